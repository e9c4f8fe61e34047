"""The sample file: what is written reads back, and what is wrong is named by line and field."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets import real_k
from ckptbench.fixtures.datasets.io import sample_file
from ckptbench.fixtures.datasets.io.sample_file import SampleFile

TEXT = "🍎 사과는 달다. 마당의 사과가 익었다."
FIELDS = {"text": TEXT, "answer": "사과", "first": (2, 4), "second": (14, 16)}
OTHER = {"text": "배는 크다. 배는 희다.", "answer": "배", "first": (0, 1), "second": (7, 8)}


def content(*samples: Sample, dataset: str = "real-k") -> SampleFile:
    return SampleFile.of(
        samples, dataset=dataset, name="fruit", source="a.txt", licence="CC0-1.0", builder="test 1"
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "fruit.jsonl"
    two = Sample("fruit-1-1", FIELDS, "fruit-1"), Sample("fruit-2-1", OTHER, "fruit-2")
    sample_file.write(path, content(*two))
    return path


def edit(path: Path, number: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the JSON object in one line of a file, lines counted from 1."""
    lines = path.read_text(encoding="utf-8").splitlines()
    value = json.loads(lines[number - 1])
    change(value)
    lines[number - 1] = json.dumps(value, ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def error_of(path: Path) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as caught:
        sample_file.read(path, real_k.SHAPE)
    return caught.value


def test_what_is_written_reads_back(written: Path) -> None:
    read = sample_file.read(written, real_k.SHAPE)
    assert read.samples == (
        Sample("fruit-1-1", FIELDS, "fruit-1"),
        Sample("fruit-2-1", OTHER, "fruit-2"),
    )
    assert read.header.licence == "CC0-1.0"
    assert read.header.n == len(read) == 2


def test_the_first_line_is_the_header_and_leads_with_the_format(written: Path) -> None:
    header = json.loads(written.read_text(encoding="utf-8").splitlines()[0])
    assert next(iter(header)) == "format"
    assert header["format"] == "ckptbench.samples/1"
    assert header["dataset"] == "real-k"
    assert header["n"] == 2


def test_a_sample_file_is_a_sequence_of_its_samples(written: Path) -> None:
    read = sample_file.read(written)
    assert [sample.id for sample in read] == ["fruit-1-1", "fruit-2-1"]
    assert read[-1].id == "fruit-2-1"
    assert read[:1] == read.samples[:1]


def test_the_same_question_in_another_file_has_the_same_hash(written: Path) -> None:
    assert sample_file.read(written, real_k.SHAPE)[0].hash == Sample("elsewhere", FIELDS).hash


def test_samples_of_one_text_share_the_string(tmp_path: Path) -> None:
    text = "밤과 낮. 밤은 길다. 낮은 짧다."
    two = (
        Sample("a", {"text": text, "answer": "밤", "first": (0, 1), "second": (6, 7)}),
        Sample("b", {"text": text, "answer": "낮", "first": (3, 4), "second": (13, 14)}),
    )
    sample_file.write(tmp_path / "s.jsonl", content(*two))
    first, second = sample_file.read(tmp_path / "s.jsonl", real_k.SHAPE)
    assert first["text"] is second["text"]


def test_a_byte_order_mark_crlf_and_blank_lines_are_read(written: Path) -> None:
    text = written.read_text(encoding="utf-8").replace("\n", "\r\n\r\n")
    written.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(sample_file.read(written, real_k.SHAPE)) == 2


def test_a_line_separator_inside_a_text_does_not_end_the_line(tmp_path: Path) -> None:
    fields = {**OTHER, "text": "배는 크다.\u2028배는 희다."}
    sample_file.write(tmp_path / "s.jsonl", content(Sample("a", fields)))
    assert sample_file.read(tmp_path / "s.jsonl", real_k.SHAPE)[0]["text"] == fields["text"]


@pytest.mark.parametrize(
    ("name", "value", "field", "what"),
    [
        ("text", None, "text", "expected a string, found None"),
        ("text", 7, "text", "expected a string, found 7"),
        ("answer", " ", "answer", "is empty"),
        ("answer", "\ud800", "answer", "lone surrogate"),
        ("answer", "배", "first", "points at '사과', but the answer is '배'"),
        ("first", "2,4", "first", "expected a pair of character offsets"),
        ("first", [4, 2], "first", "0 <= start < end"),
        ("first", [-20, -18], "first", "0 <= start < end"),
        ("first", [True, 4], "first", "expected [start, end)"),
        ("first", [14, 16], "second", "does not come after the first mention"),
        ("second", [100, 102], "second", "points at ''"),
    ],
)
def test_a_flawed_field_is_named_with_its_line(
    written: Path, name: str, value: object, field: str, what: str
) -> None:
    lines = written.read_text(encoding="utf-8").splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), name: value})
    written.write_text("\n".join(lines), encoding="utf-8")
    error = error_of(written)
    assert error.where == f"{written}:2, field {field!r}"
    assert what in error.what


def test_a_missing_field_is_named(written: Path) -> None:
    edit(written, 3, lambda value: value.pop("answer"))
    error = error_of(written)
    assert error.where == f"{written}:3, field 'answer'"
    assert error.what == "is missing"


def test_an_unknown_field_gets_the_nearest_known_name(written: Path) -> None:
    edit(written, 3, lambda value: value.update(anwser=value.pop("answer")))
    error = error_of(written)
    assert error.where == f"{written}:3, field 'anwser'"
    assert "did you mean 'answer'?" in error.what


@pytest.mark.parametrize("name", ["", "a b", "a[1]", "a::b", "사과-1", 3, None])
def test_an_id_that_is_no_node_id_is_named(written: Path, name: object) -> None:
    edit(written, 2, lambda value: value.update(id=name))
    assert error_of(written).where == f"{written}:2, field 'id'"


def test_an_id_used_twice_names_both_lines(written: Path) -> None:
    edit(written, 3, lambda value: value.update(id="fruit-1-1"))
    error = error_of(written)
    assert error.where == f"{written}:3, field 'id'"
    assert "line 2" in error.what


def test_the_same_content_twice_names_both_lines(written: Path) -> None:
    edit(written, 3, lambda value: value.update(FIELDS))
    error = error_of(written)
    assert error.where == f"{written}:3"
    assert "line 2" in error.what


def test_an_edited_sample_is_noticed_and_the_new_header_is_told(written: Path) -> None:
    edit(written, 2, lambda value: value.update(text=TEXT + " 끝."))
    error = error_of(written)
    assert error.where == f"{written}:1, field 'hash'"
    digest = error.remedy.partition('"hash": "')[2][:16]
    edit(written, 1, lambda header: header.update(hash=digest))
    assert sample_file.read(written, real_k.SHAPE)[0]["text"].endswith("끝.")


def test_a_truncated_file_is_noticed(written: Path) -> None:
    written.write_text("".join(written.read_text("utf-8").splitlines(True)[:-1]), "utf-8")
    error = error_of(written)
    assert error.where == f"{written}:1, field 'n'"
    assert error.what.startswith("is 2, but 1 samples follow")


def test_reordered_samples_are_another_file(written: Path) -> None:
    lines = written.read_text("utf-8").splitlines(True)
    written.write_text(lines[0] + lines[2] + lines[1], "utf-8")
    assert error_of(written).where == f"{written}:1, field 'hash'"


@pytest.mark.parametrize(
    ("change", "field", "what"),
    [
        (lambda h: h.pop("format"), "", "the header is missing"),
        (lambda h: h.update(format="ckptbench.samples/9"), "format", "ckptbench.samples/9"),
        (lambda h: h.update(dataset="ko-lambada"), "dataset", "'real-k' are needed"),
        (lambda h: h.pop("source"), "source", "is missing"),
        (lambda h: h.update(licens="MIT"), "licens", "did you mean 'licence'?"),
        (lambda h: h.update(n="2"), "n", "expected a whole number"),
        (lambda h: h.update(name=2), "name", "expected a string"),
    ],
)
def test_a_header_that_cannot_be_used_is_explained(
    written: Path, change: Callable[[dict[str, Any]], object], field: str, what: str
) -> None:
    edit(written, 1, change)
    error = error_of(written)
    assert error.where == f"{written}:1" + (f", field {field!r}" if field else "")
    assert what in error.what


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{'id': 1}", "is not JSON"),
        ('{"id": NaN}', "NaN is not a JSON value"),
        ('["a"]', "expected a JSON object, found list"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_line_that_is_no_json_object_is_named(written: Path, line: str, what: str) -> None:
    with written.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    error = error_of(written)
    assert error.where == f"{written}:4"
    assert what in error.what


def test_bytes_that_are_not_utf8_are_named(written: Path) -> None:
    with written.open("ab") as file:
        file.write("사과".encode("cp949"))
    error = error_of(written)
    assert error.where == f"{written}:4"
    assert "is not UTF-8" in error.what


def test_an_empty_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert error_of(tmp_path / "empty.jsonl").what == "is empty"
    assert "No such file" in error_of(tmp_path / "none.jsonl").what


def test_a_sample_that_could_not_be_read_back_is_not_written(written: Path) -> None:
    before = written.read_bytes()
    twice = content(Sample("a", FIELDS), Sample("b", FIELDS))
    with pytest.raises(CkptbenchError, match="asks the same as line 2"):
        sample_file.write(written, twice)
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


@contextmanager
def disk_that_holds(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_earlier_file(written: Path) -> None:
    before = written.read_bytes()
    many = [Sample(f"a-{n}", {**OTHER, "text": OTHER["text"] + f" {n}"}) for n in range(1000)]
    with disk_that_holds(10_000), pytest.raises(CkptbenchError, match="cannot be written"):
        sample_file.write(written, content(*many))
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]
