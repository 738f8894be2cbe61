"""Every file of the corpus ends as it must: read as meant, or refused in one sentence."""

from __future__ import annotations

import pandas as pd
import pytest

from shapewise.ingest.read import ReaderError, read_file
from tests.support.corpus import CORPUS


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [name for name, case in CORPUS.items() if not case.error])
def test_read_as_meant(name):
    case = CORPUS[name]
    loaded = read_file(case.file, case.data())
    assert case.others or loaded.frame.columns.tolist() == list(case.columns)
    for column, values in case.columns.items():
        found, wanted = loaded.frame[column], pd.Series(values)
        assert (
            pd.api.types.is_numeric_dtype(found) == pd.api.types.is_numeric_dtype(wanted.infer_objects())
            or found.isna().any()
        )
        pd.testing.assert_series_equal(
            found.astype(object).where(found.notna(), None),
            pd.Series(values, dtype=object).where(wanted.notna(), None),
            check_names=False, check_dtype=False,
        )  # fmt: skip
    for words in case.notes:
        assert any(words in note for note in loaded.notes), loaded.notes
    assert bool(case.notes) == bool(loaded.notes), loaded.notes
    assert all(note.endswith(".") for note in loaded.notes)


@pytest.mark.parametrize("name", [name for name, case in CORPUS.items() if case.error])
def test_refused_in_one_sentence(name):
    case = CORPUS[name]
    with pytest.raises(ReaderError) as caught:
        read_file(case.file, case.data())
    said = str(caught.value)
    assert all(words in said for words in case.error), said
    assert said.endswith(".")
    assert ". " not in said
    assert "\n" not in said
    assert len(said) < 400


def test_the_corpus_is_as_large_as_promised():
    assert len(CORPUS) >= 150
