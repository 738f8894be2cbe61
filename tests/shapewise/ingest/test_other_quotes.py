"""Quotation marks, blanks, code pages, headers and ends of tables as other programs write them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shapewise.ingest.common import ReaderError
from shapewise.ingest.read import read_file

SAID = ['he said "no" to it', '"so" it began', 'it ended "so"', 'a 5" pipe', "plain", "a, b", 'two "big" "words"']


def read(text, name="t.csv"):
    return read_file(name, text.encode() if isinstance(text, str) else text)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("seed", range(5))
def test_quotes_within_cells_need_not_be_doubled(seed, separator):
    """Wherever the first such cell is: in the first lines, or behind what the layout is found in."""
    rng = np.random.default_rng(seed)
    texts = [*["plain"] * int(rng.integers(0, 400)), *rng.choice(SAID, 30), SAID[0]]
    rows = [f'{k}{separator}"{text}"{separator}"x"' for k, text in enumerate(texts)]
    table = read("\n".join([separator.join(["a", "b", "c"]), *rows]) + "\n")
    assert table.frame["b"].tolist() == texts
    assert table.frame["c"].eq("x").all()
    assert any("not doubled" in note for note in table.notes)


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_blanks_between_separators_and_quotes_are_no_part_of_cells(separator):
    rows = [f'"{k}"{separator} "{k}.5"{separator}  "x{separator}y"' for k in range(5)]
    table = read("\n".join([f'"a"{separator} "b"{separator} "c"', *rows]) + "\n").frame
    assert list(table) == ["a", "b", "c"]
    assert table["b"].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert table["c"].eq(f"x{separator}y").all()


def test_marks_of_inches_in_odd_number_are_part_of_cells():
    table = read('id|size|n\n1|5" pipe|2\n2|7"|3\n3|a 3" nail|4\n').frame
    assert table["size"].tolist() == ['5" pipe', '7"', 'a 3" nail']


def test_rows_that_a_quote_swallows_are_refused():
    rows = [f"{k};name {k};{k}.5;x" for k in range(30)]
    rows[5], rows[20] = '5;"name 5;5.5;x', '20;name 20";20.5;x'
    with pytest.raises(ReaderError, match="closed 15 lines later"):
        read("\n".join(["id;name;v;w", *rows]) + "\n")


def test_prose_over_several_lines_is_one_cell():
    rows = [f'{k},"a, b\nand, so, on\nend",{k}.5,x' for k in range(5)]
    assert len(read("\n".join(["id,text,v,w", *rows]) + "\n").frame) == 5


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_the_null_of_databases_is_a_missing_cell(separator):
    rows = [separator.join(cells) for cells in (["1", "x", "2.5"], [r"\N", r"\N", r"\N"], ["3", "y", "4.5"])]
    frame = read("\n".join([separator.join("abc"), *rows]) + "\n").frame
    assert frame.isna().sum().tolist() == [1, 1, 1]
    assert frame["a"].sum() == 4


@pytest.mark.one_in(4)
@pytest.mark.parametrize("sign", ["©", "®", "é", "ß", "€", "°", "ñ", "Å", "½ "])
def test_one_accent_in_a_file_is_western(sign):
    table = read(f"a,b\n1,x{sign}\n2,y\n".encode("cp1252"))
    assert table.frame["b"].tolist() == [f"x{sign}".strip(), "y"]
    assert any("cp1252" in note for note in table.notes)


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1251", ["Москва", "Санкт", "Казань"]),
        ("shift_jis", ["田中さくら", "鈴木一郎"]),
        ("gb18030", ["王小明", "李四"]),
        ("big5", ["臺北市", "高雄市", "臺中市"]),
        ("euc_kr", ["서울특별시", "부산광역시"]),
        ("euc_jp", ["ロサンゼルス", "トリポリ"]),
        ("iso2022_jp", ["田中さくら", "鈴木一郎"]),
        ("koi8_r", ["Москва", "Новосибирск", "Казань"]),
        ("iso8859_2", ["Łódź", "Świętochłowice", "Białystok", "Częstochowa"]),
        ("cp1250", ["Plzeň", "České Budějovice", "Ústí nad Labem"]),
        ("cp852", ["Győr", "Székesfehérvár", "Hódmezővásárhely"]),
        ("mac_roman", ["Düsseldorf", "Göttingen", "Tübingen", "Gießen"]),
        ("cp850", ["Düsseldorf", "Göttingen", "Tübingen", "Gießen"]),
        ("cp1252", ["Russell Microcap® Value Index", "20° and more"]),
        ("cp1252", ["Côte d’Ivoire"]),
        ("cp1252", ["L’Étoile", "l’été"]),
        ("mac_roman", ["Côte d’Ivoire", "Curaçao"]),
        ("cp1255", ["ירושלים", "תל אביב"]),
        ("iso8859_6", ["القاهرة", "الإسكندرية"]),
    ],
)
@pytest.mark.parametrize("others", [0, 200])
def test_words_are_read_in_the_encoding_of_their_language(encoding, words, others):
    cells = [*words, *["plain"] * others]
    text = "\n".join(["name,v", *[f"{cell},{k}" for k, cell in enumerate(cells)], ""])
    assert read(text.encode(encoding)).frame["name"].tolist() == cells


def test_two_encodings_that_fit_alike_are_both_named():
    (note,) = (note for note in read("a,b\n1,x\n2,Nîmes\n".encode("cp1252")).notes if "Decoded" in note)
    assert "'Nîmes' would be 'Nīmes'" in note


def test_prose_of_two_lines_with_as_many_commas_as_a_row_is_a_cell():
    table = read('a,b,c,d\n1,x,"one, two, three\n(and, more)",4\n2,y,z,5\n')
    assert table.frame["c"].tolist() == ["one, two, three\n(and, more)", "z"]


def test_codes_that_look_like_powers_of_ten_stay_text():
    assert read("id,v\n020E33,1\n014E05,2\n").frame["id"].tolist() == ["020E33", "014E05"]


@pytest.mark.parametrize(
    "end",
    [
        "Source: the office",
        "Note: it may change",
        "(c) an office",
        "Stand: 2024-01-31",
        "These figures may count persons in more states than one",
    ],
)
def test_footnotes_below_a_table_are_no_rows(end):
    table = read("\n".join(["state,n,m,k", *[f"s{k},{k},2,3" for k in range(12)], f"{end},,,", ",,,"]) + "\n")
    assert len(table.frame) == 12
    assert any("below the table" in note for note in table.notes)


def test_a_last_row_with_blanks_is_a_row():
    assert len(read("name,n,m\na,1,2\nb,3,4\nThis row has blanks,,\n").frame) == 3


def test_totals_may_stand_in_any_column():
    assert read("a,b,c\n1,x,2\n3,y,4\n,Total,6\n").frame["c"].tolist() == [2, 4]


@pytest.mark.parametrize(("last", "rows"), [(",60,6.5", 3), (",61,6.5", 4), ("D,60,6.5", 4), (",60,x", 4), (",0,0", 4)])
def test_a_last_row_without_a_name_is_a_total_where_it_sums_up_the_others(last, rows):
    table = read(f"city,n,x\nA,10,1.5\nB,20,2\nC,30,3\n{last}\n")
    assert len(table.frame) == rows
    assert any("Left out 1 last row that begins with" in note for note in table.notes) == (rows == 3)
    assert any("'D', is kept: it may be the sum" in note for note in table.notes) == last.startswith("D")


MEANS = {
    "Average": "city,n,x\nA,10,1.5\nB,20,2\nC,31,3\nAverage,20.3,2.17\n",
    "Mittelwert": "Stadt;n;x\nA;1.000;1,5\nB;2.000;2,0\nC;3.000;3,0\nMittelwert;2.000;2,17\n",
    "Moyenne": "ville,n,x\nA,10,1.5\nB,20,2\nC,30,3\n,,\nMoyenne,20,2.1667\n",
    "Mean": "city,n,x\nA,10,1.5\nB,20,2\nC,30,3\nMean,20,2.17\nSD,10,0.76\nMin,10,1.5\nMax,30,3\n",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("word", MEANS)
def test_last_rows_of_means_and_the_like_are_no_rows_where_the_numbers_agree(word):
    table = read(MEANS[word])
    assert table.frame.iloc[:, 0].tolist() == ["A", "B", "C"]
    assert any(f"with '{word} " in note for note in table.notes)


@pytest.mark.parametrize("last", ["average,10,0.2", "average,20,0.4", "Average,10,"])
def test_a_level_called_average_is_a_row_and_told(last):
    table = read(f"rating,n,x\npoor,10,0.2\ngood,30,0.6\nbest,30,0.6\n{last}\n")
    assert len(table.frame) == 4
    assert any("sums or means" in note for note in table.notes)


def test_sums_between_rows_stay_and_are_told():
    table = read("city,n\nA,10\nB,20\nTotal,30\nC,5\nD,6\nTotal,11\n")
    assert len(table.frame) == 6
    assert any("they may be sums" in note for note in table.notes)


def test_words_between_blanks_are_a_table_where_a_column_has_codes():
    frame = read("first last state phone\nJohn Smith WA 418-Y11\nMary Hart CA 319-Z19\nEvan Nolan IL 219-c30\n").frame
    assert frame["state"].tolist() == ["WA", "CA", "IL"]
    prose = "text\nit was a bright day\nthe sun was in clouds\nit rained all day long\n"
    assert read(prose).frame.shape == (3, 1)


def test_columns_of_fixed_width_are_told():
    ragged = read("name         age city\nAnn Lee       31 New York\nBob           28 Rome\nCyd           45 Bern\n")
    assert any("fixed width" in note for note in ragged.notes)
    assert not read("text\nthis is  prose\nand more  here too\nwe end\n").notes
    table = read("NAME         N     M\nAlpha Beta   1     2\nGamma Delta  3     4\n", "t.txt")
    assert any("fixed width" in note for note in table.notes)


def test_numbers_in_the_first_line_are_told_or_a_row():
    assert read("1,2\n1,2\n1,3\n2,4\n").frame.shape == (4, 2)
    assert any("is read as column names" in note for note in read("1,2,3\n4,5,6\n").notes)
    assert list(read("id,100,200\na,TRUE,FALSE\nb,FALSE,FALSE\nc,TRUE,TRUE\n").frame) == ["id", "100", "200"]


@pytest.mark.parametrize("text", ["20240131 12:30:05", "20240131T123005", "2024-01-31 12.30.05", "2024-01-31T123005"])
def test_moments_without_marks_between_their_parts(text):
    frame = read(f"t,v\n{text},1\n{text.replace('31', '30', 1)},2\n").frame
    assert frame["t"][0] == pd.Timestamp("2024-01-31 12:30:05")
