"""Rows of text files: values as they stand in the file, places as an editor counts lines."""

from __future__ import annotations

import csv
import os
import threading
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.fixtures.datasets.io.rows import csv_rows, json_rows, tsv_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows"


def test_tsv_takes_quotation_marks_as_text(path: Path) -> None:
    path.write_bytes('ID\tText\r\n1\t"왕"은 왕이다\r\n2\t그때 "왕\r\n'.encode())
    assert [row.values for row in tsv_rows(path)] == [
        {"ID": "1", "Text": '"왕"은 왕이다'},
        {"ID": "2", "Text": '그때 "왕'},
    ]


def test_tsv_reads_past_a_byte_order_mark(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfText\n" + "강\n".encode())
    assert [row.values for row in tsv_rows(path)] == [{"Text": "강"}]


def test_a_row_with_another_number_of_cells_is_named(path: Path) -> None:
    path.write_text("ID\tText\n1\t강\n2\t산\t들\n", encoding="utf-8")
    with pytest.raises(CkptbenchError, match="has 3 cells, but the first line names 2") as caught:
        list(tsv_rows(path))
    assert caught.value.where == f"{path}:3"


def test_a_column_named_twice_is_refused(path: Path) -> None:
    path.write_text("Text\tText\n강\t산\n", encoding="utf-8")
    with pytest.raises(CkptbenchError, match="'Text' is named twice"):
        list(tsv_rows(path))


def test_csv_quotes_commas_line_ends_and_quotation_marks(path: Path) -> None:
    path.write_bytes('id,text\r\n1,"강, 산\r\n""들"""\r\n2,끝\r\n'.encode())
    rows = list(csv_rows(path))
    assert [row.values["text"] for row in rows] == ['강, 산\n"들"', "끝"]
    assert [row.where for row in rows] == [f"{path}:2", f"{path}:4"]


def test_csv_cells_may_be_longer_than_pythons_limit_which_stays(path: Path) -> None:
    before = csv.field_size_limit()
    path.write_text(f"text\n{'강' * 2 * before}\n", encoding="utf-8")
    assert [len(row.values["text"]) for row in csv_rows(path)] == [2 * before]
    assert csv.field_size_limit() == before


def test_a_quotation_mark_never_closed_does_not_swallow_the_rest(path: Path) -> None:
    path.write_text('id,text\n1,강\n2,"산\n3,들\n', encoding="utf-8")
    with pytest.raises(CkptbenchError, match="is not CSV") as caught:
        list(csv_rows(path))
    assert caught.value.where == f"{path}:3"


@pytest.mark.parametrize("read", [json_rows, tsv_rows, csv_rows])
def test_an_empty_file_has_no_rows(path: Path, read: object) -> None:
    path.write_text("\n\n", encoding="utf-8")
    assert callable(read)
    assert list(read(path)) == []


def test_json_lines_and_an_array_give_the_same_rows(path: Path, tmp_path: Path) -> None:
    path.write_text('{"t": "강"}\n\n{"t": "산"}\n', encoding="utf-8")
    array = tmp_path / "array.json"
    array.write_text('\n[\n  {"t": "강"},\n  {\n    "t": "산"\n  }\n]\n', encoding="utf-8")
    assert [row.values for row in json_rows(path)] == [row.values for row in json_rows(array)]
    assert [row.where for row in json_rows(path)] == [f"{path}:1", f"{path}:3"]
    assert [row.where for row in json_rows(array)] == [f"{array}:3", f"{array}:4"]


def test_an_empty_array_has_no_rows(path: Path) -> None:
    path.write_text("[ ]", encoding="utf-8")
    assert list(json_rows(path)) == []


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"t": 1}\n{"t": }\n', 2, "is not JSON"),
        ('{"t": 1}\n7\n', 2, "expected a JSON object, found int"),
        ('[{"t": 1}\n{"t": 2}]', 2, "expected ',' or ']'"),
        ('[{"t": 1},\n{"t": 2}', 2, "expected ',' or ']'"),
        ('[{"t": 1},\n\n]', 3, "is not JSON"),
        ('[{"t": 1}\n]\n{"t": 2}', 3, "more text follows the array"),
        ('[{"t": 1},\n"강"]', 2, "expected a JSON object, found str"),
    ],
)
def test_broken_json_is_named_by_its_line(path: Path, text: str, line: int, what: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CkptbenchError) as caught:
        list(json_rows(path))
    assert caught.value.where == f"{path}:{line}"
    assert what in caught.value.what


def test_a_pipe_is_read_once(path: Path) -> None:
    os.mkfifo(path)
    lines = "".join(f'{{"n": {n}}}\n' for n in range(5000))
    writer = threading.Thread(target=path.write_text, args=(lines,))
    writer.start()
    assert [row.values["n"] for row in json_rows(path)] == list(range(5000))
    writer.join()
