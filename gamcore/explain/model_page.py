"""What a fitted model has learned, as HTML: below the diagram of an estimator, and as a report of one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from gamcore.common.numbers import number
from gamcore.explain.curves import Curve
from gamcore.explain.importance import Importance
from gamcore.explain.plots.curves import common_limits, small
from gamcore.explain.surfaces import Surface
from gamcore.explain.tasks import TaskImportance
from gamcore.viz.html import CLASS, THEMED, framed, still, style, text
from gamcore.viz.palette import clean
from gamcore.viz.spec import Plot
from gamcore.viz.svg import small_svg

MOST_ROWS: Final = 300
"""Rows of a table behind a picture."""

Fact = tuple[str, str]
PAGE: Final = (
    f".{CLASS}{{max-width:none;min-height:100vh;padding:0;font-size:16px}}body{{margin:0}}"
    f".{CLASS} main{{max-width:780px;margin:0 auto;padding:24px 20px 48px}}"
    f".{CLASS} h1,.{CLASS} h2{{line-height:1.25;font-weight:600}}.{CLASS} h2{{margin:40px 0 12px;font-size:21px}}"
    f".{CLASS} h1{{margin:8px 0 12px;font-size:28px}}.{CLASS} section{{margin:0 0 32px}}"
    f".{CLASS} main figure{{overflow-x:auto}}.{CLASS} main figure>svg{{min-width:520px}}"  # else too small on a phone
    f".{CLASS} dl{{display:grid;grid-template-columns:minmax(72px,max-content) 1fr;gap:4px 24px;margin:0 0 24px}}"
    f".{CLASS} dt{{color:var(--{CLASS}-muted)}}.{CLASS} dd{{margin:0}}"
    f".{CLASS} summary{{cursor:pointer;color:var(--{CLASS}-muted);font-size:14px}}"
    f".{CLASS} .numbers{{overflow-x:auto}}.{CLASS} table{{border-collapse:collapse;font-size:13px;margin:8px 0}}"
    f".{CLASS} th,.{CLASS} td{{text-align:left;padding:3px 14px 3px 0;border-bottom:1px solid "
    f"var(--{CLASS}-hairline);white-space:nowrap}}.{CLASS} th{{font-weight:400;color:var(--{CLASS}-muted)}}"
    f".{CLASS} footer{{color:var(--{CLASS}-muted);font-size:14px}}"
    f"@media print{{.{CLASS} section,.{CLASS} figure{{break-inside:avoid}}}}"
)


@dataclass(frozen=True)
class Reading:
    """All that a fitted model can be read by.

    summary : the model in a sentence. facts : how it was trained, as names and values. curves : the most important
    first. pairs : its interactions.
    """

    summary: str
    importance: Importance | TaskImportance
    facts: tuple[Fact, ...]
    curves: tuple[Curve, ...]
    pairs: tuple[Surface, ...] = ()


def learned(reading: Reading) -> str:
    """Return the importances and the curves of a model, for a notebook."""
    bars = reading.importance.describe()
    more = len(reading.importance.features) - len(reading.curves) - len(reading.pairs)
    rest = f'<p class="detail">{more} more in model.importance().</p>' if more > 0 else ""
    curves = f'<div class="small">{"".join(_small(reading.curves))}</div>'
    return framed(f"<p>{text(reading.summary)}</p>{still(bars)}{curves}{rest}")


def _small(curves: Sequence[Curve]) -> Iterator[str]:
    """Yield small pictures of curves, on one scale."""
    limits = common_limits(list(curves)) if curves else (0.0, 1.0)
    for curve in curves:
        yield small_svg(small(curve, limits), color=THEMED)


def page(title: str, reading: Reading, quality: tuple[Sequence[Fact], Sequence[Plot]], target: str, about: str) -> str:
    """Return a model's report as one HTML file without scripts or links.

    quality : metrics as names and values, and their plots; both may be empty. target : what the model predicts.
    """
    metrics, measured = quality
    parts = [f"<h1>{text(title)}</h1><p>{text(reading.summary)}</p>"]
    if metrics:
        parts.append(f"<h2>How well it predicts</h2>{_facts(metrics)}{''.join(map(_section, measured))}")
    parts.append(f"<h2>What moves predictions</h2>{_section(reading.importance.describe())}")
    parts += _explained("Curves, the most important first", reading.curves, target)
    parts += _explained("Pairs: effects beyond each feature alone", reading.pairs, target)
    parts.append(f"<h2>How it was trained</h2>{_facts(reading.facts)}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" '
        f'content="light dark"><title>{text(title)}</title>{style(PAGE)}</head>\n<body class="{CLASS}"><main>'
        + "\n".join(parts)
        + f"\n<footer>{text(about)}</footer></main></body></html>\n"
    )


def _explained(heading: str, explanations: Sequence[Curve | Surface], target: str) -> list[str]:
    """Return a heading, and every explanation with its sentence; nothing where there are none."""
    parts = [_section(explanation.describe(target=target), explanation.words()) for explanation in explanations]
    return [f"<h2>{text(heading)}</h2>", *parts] if parts else []


def _section(plot: Plot, words: str = "") -> str:
    """Return a picture, what there is to say of it beside its title, and its numbers behind a click."""
    sentence = f"<p>{text(words)}</p>" if words else ""
    rows = plot.numbers.head(MOST_ROWS)
    table = rows.to_html(index=False, border=0, float_format=partial(number, digits=4), na_rep="", justify="left")
    return (
        f"<section>{still(plot)}{sentence}<details><summary>Numbers</summary>"
        f'<div class="numbers">{clean(table)}</div></details></section>'
    )


def _facts(facts: Sequence[Fact]) -> str:
    lines = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in facts)
    return f"<dl>{lines}</dl>"
