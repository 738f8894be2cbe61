"""Files read in a child: what it writes, what it is ended for, and tables larger than it may hold."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet
import pytest

from shapewise import processes
from shapewise.ingest import supervisor as loader
from shapewise.ingest import text
from shapewise.ingest import writer as big
from shapewise.ingest.read import Reader, ReaderError, read_file
from shapewise.ingest.supervisor import PROGRAM, Loading, Reading, ReadLimits, kind_of_file, load
from tests.support.bombs import BOMBS, read, tiny
from tests.support.corpus import AB, PLAIN
from tests.support.places import ROOT

MB = 2**20


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source"
    path.write_text(PLAIN)
    return path


def nothing(share, words):
    pass


def test_a_small_table_is_written_whole(source, tmp_path):
    loading = load(source, "../../con\n.CSV", tmp_path / "into")
    frame = pd.read_parquet(tmp_path / "into" / "table.parquet")
    assert frame.to_dict("list") == AB
    assert loading == Loading(3, 2, loading.memory, 0, [])
    assert loading.memory == pytest.approx(frame.memory_usage(deep=True, index=False).sum(), abs=8)
    assert [path.name for path in (tmp_path / "into").iterdir()] == ["table.parquet"]


@pytest.mark.slow
def test_the_child_goes_without_kernels():
    code = PROGRAM.replace("; from shapewise.ingest.child import main; main(sys.argv[2])", "")
    code += "; import shapewise.ingest.child; print({'numba', 'sklearn', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", code, str(ROOT)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_refusals_pass_word_by_word_and_leave_nothing(tmp_path):
    (tmp_path / "source").write_bytes(b'a,b\n"x,1\ny,2\n')
    with pytest.raises(ReaderError) as here:
        read_file("t.csv", (tmp_path / "source").read_bytes())
    for into in (tmp_path / "new", tmp_path / "old"):
        (tmp_path / "old").mkdir(exist_ok=True)
        with pytest.raises(ReaderError) as there:
            load(tmp_path / "source", "t.csv", into)
        assert str(there.value) == str(here.value)
    assert not (tmp_path / "new").exists()
    assert list((tmp_path / "old").iterdir()) == []


READY = (  # at once, as the real child reports: half a report counts as a crash
    "import sys; from pathlib import Path; from shapewise import processes; "
    "processes.report(Path(sys.argv[2]), share=0.5, words='x'); "
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os.kill(os.getpid(), 11)", "reader stopped"),
        ("raise KeyError('a secret')", "reader stopped"),
        (f"{READY}import time; time.sleep(60)", "more than 10 seconds, as the server is busy"),
        (f"{READY}any(iter(int, 1))", "more than 1 seconds"),
        (f"{READY}import time; time.sleep(.2); x = b'x' * 10**9; time.sleep(60)", "more than 50 MiB"),
        (f"{READY}sys.exit(0)", "reader stopped"),
    ],
    ids=["crash", "mistake", "waiting", "slow", "large", "without an end"],
)  # fmt: skip
def test_a_child_that_fails_is_one_sentence_and_leaves_nothing(code, words, source, tmp_path, monkeypatch, caplog):
    written = f"open({str(tmp_path)!r} + '/into/half', 'w').write('x'); "
    monkeypatch.setattr(loader, "PROGRAM", written + code)
    with pytest.raises(ReaderError, match=words) as caught:
        load(source, "t.csv", tmp_path / "into", ReadLimits(memory=50 * MB, seconds=1.0))
    assert not (tmp_path / "into").exists()
    assert "secret" not in str(caught.value)
    if words == "reader stopped":
        number = str(caught.value).split("error ")[1].split()[0]
        assert number in caplog.text
        assert ("secret" in caplog.text) == ("secret" in code)


def test_an_interrupted_reading_ends_the_child(source, tmp_path, monkeypatch):
    class StopError(Exception):
        pass

    def stop(share, words):
        raise StopError

    before = {child.pid for child in psutil.Process().children()}
    monkeypatch.setattr(loader, "PROGRAM", f"{READY}import time; time.sleep(60)")
    with pytest.raises(StopError):
        load(source, "t.csv", tmp_path / "into", tell=stop)
    assert {child.pid for child in psutil.Process().children()} <= before
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("name", ["t.exe", "t", "t.pdf", "t.parquet.gz", "csv"])
def test_endings_are_checked_before_a_child_begins(name, source, tmp_path):
    with pytest.raises(ReaderError):
        load(source, name, tmp_path / "into")
    assert not (tmp_path / "into").exists()


def test_kinds_come_from_the_name(source, tmp_path):
    assert kind_of_file(source, "X.CSV.gz") == ".csv.gz"
    assert kind_of_file(source, "c" * 300 + ".TSV") == ".tsv"
    assert kind_of_file(tmp_path, "whatever") == "folder"


# --- tables larger than memory


def parts(folder, count, rows, wide):
    """A folder of Parquet files of `rows` rows each, with numbers and long texts that pack well."""
    text = pa.array([f"{k:05d} " * 20 for k in range(50)])
    for k in range(count):
        number = np.arange(k * rows, (k + 1) * rows)
        columns = {"row": number, "x": number % 97 / 8, "flag": pa.array(number % 3 == 0, mask=number % 5 == 0)}
        columns |= {f"t{j}": text.take(pa.array((number + j) % 50)) for j in range(wide)}
        (folder / f"year={2010 + k}").mkdir(parents=True)
        pa.parquet.write_table(pa.table(columns), folder / f"year={2010 + k}" / "part.parquet")


@pytest.mark.slow
def test_a_folder_ten_times_larger_than_memory(tmp_path):
    parts(tmp_path / "folder", 6, 200_000, 7)
    limit, heard = 96 * MB, []
    loading = load(
        tmp_path / "folder", "folder", tmp_path / "into", ReadLimits(memory=limit, table=16 * MB),
        lambda share, words: heard.append(share),
    )  # fmt: skip
    assert loading.memory >= 10 * limit
    assert (loading.rows, loading.columns) == (1_200_000, 11)
    file = pa.parquet.ParquetFile(tmp_path / "into" / "table.parquet")
    assert file.metadata.num_rows == 1_200_000
    found = file.read(["row", "x", "year"]).to_pandas()
    assert (found["row"] == np.arange(1_200_000)).all()
    assert (found["x"] == found["row"] % 97 / 8).all()
    assert (found["year"] == 2010 + found["row"] // 200_000).all()
    flags = pd.read_parquet(tmp_path / "into" / "table.parquet", columns=["flag"])["flag"]
    assert flags.dtype == "boolean"
    assert flags.isna().sum() == 240_000
    sample = pd.read_parquet(tmp_path / "into" / "sample.parquet")
    assert len(sample) == loading.sampled > 1000
    assert sample.memory_usage(deep=True, index=False).sum() <= 4.1 * MB
    assert sample["row"].is_monotonic_increasing
    assert (sample["t1"] == [f"{k:05d} " * 20 for k in (sample["row"] + 1) % 50]).all()
    assert heard == sorted(heard)
    assert heard


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet", "feather"])
def test_progress_is_told_from_the_begin_to_the_end(kind):
    frame = pd.DataFrame({"a": np.arange(5000), "b": "x"})
    writers = {
        "csv": lambda out: frame.to_csv(out, index=False), "xlsx": lambda out: frame.to_excel(out, index=False),
        "parquet": frame.to_parquet, "feather": frame.to_feather,
    }  # fmt: skip
    out, heard = io.BytesIO(), []
    writers[kind](out)
    read_file(f"t.{kind}", out.getvalue(), lambda share, words: heard.append((share, words)))
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.8
    assert " rows" in heard[-1][1]


def read_text(path, into, notes, gz=False, limit=2**40):
    """Write a text file as a table, as the child does."""
    consume = partial(big.write, limit=limit, into=into, tell=nothing)
    return Reader(notes, nothing).read(path, ".csv.gz" if gz else ".csv", consume)


def read_folder(folder, into, notes):
    """Write a folder of Parquet files as a table, as the child does."""
    return Reader(notes, nothing).read(folder, "folder", partial(big.write, limit=2**40, into=into, tell=nothing))


def as_text(frame, path, **options):
    frame.to_csv(path, index=False, **options)
    return path


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    n = 20_000
    return pd.DataFrame({
        "whole": np.arange(n), "x": rng.normal(size=n).round(4),
        "word": [f"word {k}" for k in rng.integers(0, 10**6, n)],
        "day": pd.date_range("2000-01-01", periods=n, freq="h").astype(str), "flag": rng.choice(["true", "false"], n),
        "price": [f"${k:,}" for k in rng.integers(1000, 10**6, n)], "gap": np.where(np.arange(n) % 7, 1.5, np.nan),
    })  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".csv", ".csv.gz", ".tsv"])
def test_text_by_batches_is_text_read_whole(kind, mixed, tmp_path):
    path = as_text(mixed, tmp_path / "t.csv", sep="\t" if kind == ".tsv" else ",", lineterminator="\r\n")
    data = path.read_bytes()
    if kind.endswith(".gz"):
        path.write_bytes(gzip.compress(data))
    into, notes = tmp_path / "into", []
    into.mkdir()
    written = read_text(path, into, notes, gz=kind.endswith(".gz"))
    whole = read_file("t.csv", data)
    found = pd.read_parquet(into / "table.parquet")
    pd.testing.assert_frame_equal(found, whole.frame, check_dtype=False)
    assert found.dtypes.map(lambda kind: kind.kind).tolist() == whole.frame.dtypes.map(lambda kind: kind.kind).tolist()
    assert notes == whole.notes
    assert written.rows == len(mixed)
    assert written.memory == pytest.approx(whole.frame.memory_usage(deep=True, index=False).sum(), rel=0.15)


@pytest.mark.slow
def test_a_table_above_the_limit_gets_the_same_sample_whatever_the_batches(mixed, tmp_path, monkeypatch):
    path, samples = as_text(mixed, tmp_path / "t.csv"), []
    for rows in (1000, 7777):
        monkeypatch.setattr(text, "BATCH_ROWS", rows)
        into = tmp_path / f"into{rows}"
        into.mkdir()
        written = read_text(path, into, [], limit=MB)
        samples.append(pd.read_parquet(into / "sample.parquet"))
        assert written.sampled == len(samples[-1])
        assert samples[-1].memory_usage(deep=True, index=False).sum() <= MB / 4 * 1.3
    pd.testing.assert_frame_equal(*samples)
    assert samples[0]["whole"].is_monotonic_increasing


def batched(tmp_path, *lines):
    """Lines read by batches: the table and the notes."""
    notes: list[str] = []
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "into").mkdir()
    read_text(tmp_path / "t.csv", tmp_path / "into", notes)
    return pd.read_parquet(tmp_path / "into" / "table.parquet"), notes


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "into").mkdir()
    with pytest.raises(ReaderError, match="not a regular file"):
        load(tmp_path / "pipe.csv", "pipe.csv", tmp_path / "into")


LATE = {
    "a slip": ([*["1.5"] * 5000, "oops"], "float64", "1 cell ('oops') is not a number"),
    "too many slips": ([*["7"] * 5000, *["oops"] * 600], "str", "cells are"),
    "a leading zero": ([*["123"] * 5000, "0123"], "str", "leading zeros"),
    "a fraction": ([*["7"] * 5000, "7.5"], "float64", None),
    "a gap": ([*["7"] * 5000, "", "8"], "float64", None),
    "no date": ([*["2024-01-31"] * 5000, "2024-02-31"], "datetime64[us]", "1 cell ('2024-02-31') is not a date"),
    "too many that are no dates": ([*["2024-01-31"] * 5000, *["soon"] * 600], "str", "cells are"),
    "no truth": ([*["true"] * 5000, "yes"], "str", "not booleans"),
    "infinity": ([*["1.5"] * 5000, "inf"], "float64", "1 infinite"),
    "a word for missing": ([*["1.5"] * 5000, "N/A"], "float64", "missing"),
    "a large number": ([*["7"] * 5000, "9007199254740993"], "str", "very long"),
}  # fmt: skip


@pytest.mark.parametrize("case", LATE)
def test_what_the_first_pass_did_not_see(case, tmp_path, monkeypatch):
    cells, kind, words = LATE[case]
    monkeypatch.setattr(text, "TYPE_ROWS", 100)
    monkeypatch.setattr(text, "BATCH_ROWS", 999)
    frame, notes = batched(tmp_path, "a,b", *[f"{cell},{k}" for k, cell in enumerate(cells)])
    assert frame["a"].dtype == kind
    assert frame["b"].tolist() == list(range(len(cells)))
    if kind == "str":
        assert frame["a"].tolist() == cells
    assert any(words in note for note in notes) if words else notes == []


def test_a_file_of_batches_is_laid_out_like_a_small_one(tmp_path):
    frame, notes = batched(
        tmp_path, "Report of May", "a;b;", *["1,5;x;"] * 500, "2,5;y", "3\0,5;z;", ";;", "Total;;", ";;"
    )
    assert frame["a"].tolist() == [*[1.5] * 500, 3.5, None][:501]
    assert frame.columns.tolist() == ["a", "b"]
    for words in ("Skipped 1 line", "semicolons", "NUL", "Skipped 1 row", "1 empty column", "3 last rows", "decimal"):
        assert any(words in note for note in notes), notes


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a,b\n1,x\n" * 9 + b'2,"y\n', "line 19"),
        (b"a,b\n" + b"1,x\n1\n" * 50, "50 rows do not have 2 cells"),
        (b"a,b\n", "no rows"),
        (b"\n\n", "no text"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "cell"),
        (b"a,b\n" + b"1,x\n" * 1_100_000 + b"2,\xff\n", "does not fit the encoding"),
        (b"a,b\n" + b"1,x\n" * 999_999 + b"2," + b"x" * 9_000_000 + b"\n", "longer than 1 MiB"),
    ],
    ids=["quote", "ragged", "names", "blank", "cell", "encoding", "row"],
)
def test_files_of_batches_are_refused_alike(data, words, tmp_path):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(ReaderError, match=words):
        read_text(tmp_path / "t.csv", tmp_path, [])


def test_parts_of_a_folder_may_differ_a_little(tmp_path):
    folder, notes = tmp_path / "folder", []
    folder.mkdir()
    pa.parquet.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), folder / "1.parquet")
    pa.parquet.write_table(pa.table({"b": ["z"], "a": [2.5]}), folder / "2.parquet")
    pa.parquet.write_table(pa.table({"a": [3], "c": [True]}), folder / "3.parquet")
    (folder / "_SUCCESS").touch()
    read_folder(folder, tmp_path, notes)
    frame = pd.read_parquet(tmp_path / "table.parquet")
    assert frame["a"].tolist() == [1, 2, 2.5, 3]
    assert frame["b"].fillna("-").tolist() == ["x", "y", "z", "-"]
    assert "Not all 3 files have the columns b, c" in notes[0]
    pa.parquet.write_table(pa.table({"a": ["text"]}), folder / "4.parquet")
    with pytest.raises(ReaderError, match=r"4\.parquet"):
        read_folder(folder, tmp_path, [])
    (folder / "4.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ReaderError, match=r"4\.parquet"):
        read_folder(folder, tmp_path, [])


def test_a_sample_is_spread_evenly():
    below = big.threshold(10_000, 1_000_000)
    rows = big.sampled_rows(0, 1_000_000, below)
    assert 9_000 < len(rows) <= 10_000
    assert np.bincount(rows // 100_000, minlength=10).min() > 850
    late = big.sampled_rows(400_000, 1_000_000, below) + 400_000
    assert (late == rows[rows >= 400_000]).all()
    assert len(big.sampled_rows(3, 9, big.threshold(9, 9))) == 6


# --- bombs


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_without_unpacking(bomb):
    name, make = BOMBS[bomb]
    data = make()
    assert len(data) <= 5_000_002
    _, growth, said = read(name, data)
    assert said.endswith(".")
    assert growth - tiny()[1] < 100_000_000


def test_damaged_files_are_read_or_refused(tmp_path):
    """One child reads Parquet, Feather and workbook files with bytes changed; it neither breaks nor says otherwise."""
    code = """
import sys
import numpy as np
from shapewise.ingest.read import ReaderError, read_file
from tests.support.corpus import CORPUS
rng, read = np.random.default_rng(0), 0
for name in ("Parquet: infinities", "Parquet: one category", "Feather, packed", "workbook: dates"):
    data = bytearray(CORPUS[name].data())
    for _ in range(40):
        damaged = data.copy()
        for at in rng.integers(4, len(data) - 4, rng.integers(1, 9)):
            damaged[at] = rng.integers(256)
        try:
            read_file(CORPUS[name].file, bytes(damaged))
            read += 1
        except ReaderError:
            pass
print("done", read)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT, timeout=60
    )
    assert done.stdout.startswith("done"), done.stderr[-2000:]


def test_a_reading_knows_what_it_took(source, tmp_path):
    reading = Reading(source, "t.csv", tmp_path / "into", ReadLimits(), nothing)
    reading.finish()
    assert reading.peak >= reading.base > 50 * MB
    assert reading.seconds > 0


@pytest.mark.parametrize(
    "code",
    [
        "(folder / 'end.json').write_text('{\"state\": \"done\"}')",
        "(folder / 'end.json').write_text('[1, 2]')",
        "(folder / 'end.json').write_text('{\"state\": \"done\", \"table\": {\"rows\": ' + '1' * 2**21 + '}}')",
        "(folder / 'progress.json').write_text('{\"share\": \"much\"}')",
        "os.mkfifo(folder / 'end.json')",
        "os.symlink('/etc/passwd', folder / 'end.json')",
    ],
    ids=["no table", "a list", "huge", "odd progress", "a pipe", "a link"],
)
@pytest.mark.skipif(os.name == "nt", reason="no pipes and links of this kind")
def test_a_child_that_a_file_has_taken_hold_of_cannot_block_or_mislead(code, source, tmp_path, monkeypatch):
    program = f"import os, pathlib, sys, time; folder = pathlib.Path(sys.argv[2]); {code}; time.sleep(60)"
    monkeypatch.setattr(loader, "PROGRAM", program)
    with pytest.raises(ReaderError, match="reader stopped"):
        load(source, "t.csv", tmp_path / "into", ReadLimits(seconds=1.0))
    assert not (tmp_path / "into").exists()


def test_a_report_that_cannot_be_written_does_not_end_the_work(tmp_path):
    processes.report(tmp_path / "gone", share=0.5, words="x")
    assert processes.read_progress(tmp_path) == {}
    processes.report(tmp_path, share=0.5, words="x")
    assert processes.read_progress(tmp_path) == {"share": 0.5, "words": "x"}
