"""What is wrong with the texts of a page as a browser lays them out: cut, spilt, over one another, or too pale."""

from __future__ import annotations

from typing import Any, Final

LEAST_CONTRAST = 4.5
"""Of text and what is behind it, as WCAG asks for."""

FAULTS = r"""
least => {
  const faults = [], texts = [], wide = document.documentElement.clientWidth;
  const said = text => text.trim().replace(/\s+/g, " ").slice(0, 70);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parsed = {};
  const rgba = color => parsed[color] ??= (() => {  // any CSS color, as a browser paints it
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  })();
  const over = (top, below) => [0, 1, 2].map(k => top[k] * top[3] + below[k] * (1 - top[3]));
  const light = color => {
    const [r, g, b] = color.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const scrolls = element => {
    for (let e = element; e && e !== document.body; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (/auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1) return true;
    }
    return false;
  };
  const shown = element => {
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (style.visibility === "hidden" || style.display === "none" || +style.opacity < 0.05) return false;
      if (style.clipPath === "inset(50%)" || /^rect\((0px|1px)/.test(style.clip)) return false;  // for readers only
    }
    return true;
  };
  const faint = element => {
    let opacity = 1;
    for (let e = element; e; e = e.parentElement) opacity *= +getComputedStyle(e).opacity;
    return opacity;
  };
  const off = e => e.closest(":disabled, [aria-disabled=true], [disabled], label:has(:disabled)");
  const inBar = ".bartext, .textpoint, .heatmaplayer, .infolayer .annotation";  // on marks of any colour
  const unread = "style, script, canvas, table[role=grid], details:not([open]) > :not(summary), " +
    '[data-testid="stFileUploaderDropzoneInstructions"]';  // of Streamlit's own
  const root = document.querySelector('[data-testid="stMain"]');
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest(unread) || !shown(element)) continue;
    const style = getComputedStyle(element), range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter(box => box.width > 2 && box.height > 2);
    if (!boxes.length || style.fontFamily.includes("Material")) continue;
    const text = said(node.textContent), drawn = element.closest("svg");
    for (const box of boxes) {
      if ((box.right > wide + 1 || box.left < -1) && !scrolls(element)) faults.push(`beyond the page: ${text}`);
      texts.push({ box, text, element, drawn });
    }
    if (!drawn) {
      for (let e = element, k = 0; e && k < 4; e = e.parentElement, k++) {
        const own = getComputedStyle(e);
        if (own.display === "inline" || e.clientWidth < 2) continue;
        if (e.scrollWidth > e.clientWidth + 1 && /hidden|clip/.test(own.overflowX)) {
          const ends = boxes.map(box => box.right), edge = e.getBoundingClientRect().right;
          if (Math.max(...ends) > edge + 1 || own.textOverflow === "ellipsis") faults.push(`cut: ${text}`);
        }
        if (/auto|scroll/.test(own.overflowX)) break;
      }
    } else {
      const around = drawn.closest(".js-plotly-plot")?.getBoundingClientRect();
      for (const box of around ? boxes : [])
        if (box.right > around.right + 2 || box.left < around.left - 2 || box.top < around.top - 2)
          faults.push(`outside its plot: ${text}`);
    }
    if (off(element) || (drawn && element.closest(inBar))) continue;
    const back = behind(drawn?.parentElement ?? element.closest('[data-testid="stSlider"]') ?? element);
    const color = rgba(drawn ? style.fill : style.color).slice();
    color[3] *= faint(element);
    const [a, b] = [light(over(color, back)), light(back)].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < least) faults.push(`contrast ${contrast.toFixed(2)}: ${text}`);
  }
  const floats = e => e.closest('[data-testid="stBottom"], [data-testid="stHeader"], [data-testid="stTooltipContent"]');
  for (let i = 0; i < texts.length; i++) {
    for (let j = i + 1; j < texts.length; j++) {
      const [a, b] = [texts[i], texts[j]];
      if (a.element === b.element || !floats(a.element) !== !floats(b.element)) continue;
      const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (x > 3 && y > 0.4 * Math.min(a.box.height, b.box.height)) faults.push(`overlap: ${a.text} / ${b.text}`);
    }
  }
  return [...new Set(faults)];
}
"""


def faults_of(page: Any, least: float = LEAST_CONTRAST) -> list[str]:
    """Return the faults of the texts that a page shows now, in words; disabled controls may be pale."""
    return list(page.evaluate(FAULTS, least))


def faults_at_rest(page: Any) -> list[str]:
    """Return the faults of the page as it is; a plot may take a moment to follow a new width or theme."""
    faults: list[str] = []
    for wait in (300, 900, 1500):
        page.wait_for_timeout(wait)
        if not (faults := faults_of(page)):
            break
    return faults


MOST_CONTROLS = 7
PHONE_HEIGHT = 844

OPENING = r"""
() => {
  const main = document.querySelector('[data-testid="stMain"]');
  const inSight = element => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    return box.width > 2 && box.height > 2 && box.bottom > 0 && box.top < innerHeight && box.right > 0
      && box.left < innerWidth && style.visibility !== "hidden";
  };
  const whole = element => inSight(element) && element.getBoundingClientRect().bottom <= innerHeight;
  const kinds = "button, input, select, textarea, a[href], summary, [role=tab], [role=slider], canvas[role=grid], " +
    'canvas[data-testid="data-grid-canvas"]';
  const fields = ["stSelectbox", "stMultiSelect", "stNumberInput", "stDateInput", "stTextInput", "stSlider",
    "stDataFrame", "stFileUploader"].map(name => `[data-testid="${name}"]`).join(", ");
  const hint = e => /^(Help\b|Link to heading)/.test(e.getAttribute("aria-label") ?? "");
  const aside = '[data-testid="stElementToolbar"], details:not([open]) > :not(summary)';
  const controls = new Set();
  for (const element of main.querySelectorAll(kinds))
    if (!hint(element) && !element.closest(aside)) {
      const control = element.closest(fields) ?? element.closest("label") ?? element;
      if (inSight(element) && whole(control)) controls.add(control);
    }
  const drawn = [".js-plotly-plot", '[data-testid="stDataFrame"]'].map(kind => main.querySelector(kind));
  const chart = drawn.find(one => one)?.getBoundingClientRect();
  const sentence = main.querySelector('[class*=st-key-headline]')?.getBoundingClientRect();
  return {
    controls: [...controls].map(e => (e.getAttribute("aria-label") || e.innerText || e.dataset.testid || e.tagName)
      .trim().replace(/\s+/g, " ").slice(0, 40)),
    chart: chart && [chart.top, chart.bottom], sentence: sentence && sentence.top,
    gaps: [...main.querySelectorAll(".stHorizontalBlock")].some(row => {
      const tiles = [...row.querySelectorAll(":scope > .stElementContainer > .stMetric")];
      const boxes = tiles.map(tile => tile.getBoundingClientRect()), edge = row.getBoundingClientRect().right;
      const lines = Object.values(Object.groupBy(boxes, box => Math.round(box.top)));
      return lines.some(line => Math.abs(Math.max(...line.map(box => box.right)) - edge) > 3)
        || (lines.length > 1 && lines[0].length - lines.at(-1).length > 1);
    }),
    unbordered: [...main.querySelectorAll('[data-variant="segmented_control"]')].filter(inSight).some(way => {
      const style = getComputedStyle(way);
      return [style.borderLeftColor, style.borderRightColor].some(color => /, 0\)|transparent/.test(color));
    }),
    over: [...main.querySelectorAll(".modebar")].filter(inSight).length,
    ragged: [...main.querySelectorAll('[data-testid="stMetric"]')].some((tile, k, tiles) => tiles.some(other => {
      const [a, b] = [tile, other].map(e => e.getBoundingClientRect());
      return Math.abs(a.top - b.top) < 2 && Math.abs(a.height - b.height) > 2;
    })),
  };
}
"""
"""What one sees of a page at first. A control is what can be pressed, typed into or dragged: each way of a choice, each
button and fold, unless the end of the screen cuts it. A field, a slider and a table count once with all their parts;
marks that explain on hover do not."""


def too_many_controls(page: Any) -> list[str]:
    """Return whether a page has more controls in sight than one takes in, as a fault or none."""
    return _too_many(page.evaluate(OPENING)["controls"])


def _too_many(controls: list[str]) -> list[str]:
    names = ", ".join(controls)
    return [f"{len(controls)} controls in sight: {names}"] * (len(controls) > MOST_CONTROLS)


def tile_faults(page: Any) -> list[str]:
    """Return what is wrong with the tiles of a page: rows that are not full, or that differ in height; and with its
    choices: one without a border on a side, which shows where it ends a line."""
    seen = page.evaluate(OPENING)
    faults = ["tiles of one row differ in height"] * bool(seen["ragged"])
    faults += ["a choice has no border on a side"] * bool(seen["unbordered"])
    return faults + ["tiles leave a gap in a row, or one stands alone"] * bool(seen["gaps"])


UPPER_HALF: Final = 450
TWO_LINES: Final = UPPER_HALF + 20
CHART_ENDS: Final = {
    "overview": UPPER_HALF, "shapes": TWO_LINES, "pairs": UPPER_HALF, "rows": UPPER_HALF, "compare": UPPER_HALF,
    "tasks": UPPER_HALF, "strategies": UPPER_HALF, "experiment": TWO_LINES, "read-out": UPPER_HALF,
}  # fmt: skip
"""Where the first chart of a page ends at the latest, at 1440 x 900, in pixels; those whose answer there takes two
lines may end a little lower."""


def late_faults(page: Any, width: int, end: int) -> list[str]:
    """Return what hides the answer of a page: too many controls, a chart that is too low, plotly's bar on it. end :
    where its first chart ends on a laptop, in pixels, at the latest."""
    seen = page.evaluate(OPENING)
    faults = ["plotly's bar lies on a chart"] * bool(seen["over"])
    if seen["chart"] is None:
        return [*faults, "no chart"]
    top, bottom = seen["chart"]
    if width >= 1440:
        faults += _too_many(seen["controls"])
        if seen["sentence"] is None or seen["sentence"] > top:
            faults.append("no sentence above the chart")
        if bottom > end:
            faults.append(f"the chart ends at {bottom:.0f}, not by {end}")
    if bottom > (PHONE_HEIGHT if width < 700 else page.viewport_size["height"]):
        faults.append(f"the chart ends at {bottom:.0f}, below the first screen")
    return faults
