"""Ko-LAMBADA rows: one blank, its word, perhaps another; each flaw named by line and field."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.api.sample import Sample
from ckptbench.fixtures.datasets import lambada
from ckptbench.fixtures.datasets.io import sample_file
from ckptbench.fixtures.datasets.io.sample_file import SampleFile

UMBRELLA = {"text": "비가 와서 _을 폈다.", "answer": "우산", "candidate": "양산"}
MILK = {"text": "고양이가 _를 핥는다.", "answer": "우유"}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def error_of(path: Path) -> CkptbenchError:
    with pytest.raises(CkptbenchError) as caught:
        lambada.load_blanks(path)
    return caught.value


def test_plain_rows_become_samples_numbered_by_row(tmp_path: Path) -> None:
    read = lambada.load_blanks(write(tmp_path / "rain.jsonl", UMBRELLA, MILK))
    assert [sample.id for sample in read] == ["rain-00001", "rain-00002"]
    assert [sample.fields for sample in read] == [UMBRELLA, MILK]
    assert read.header.dataset == "ko-lambada"
    assert read.header.source == "rain.jsonl"


def test_a_row_is_its_own_cluster_unless_it_names_one(tmp_path: Path) -> None:
    alone = lambada.load_blanks(write(tmp_path / "a.jsonl", UMBRELLA, MILK))
    assert len({sample.cluster for sample in alone}) == 2
    rows = [{**UMBRELLA, "cluster": "story"}, {**MILK, "cluster": "story"}]
    assert {
        sample.cluster for sample in lambada.load_blanks(write(tmp_path / "b.jsonl", *rows))
    } == {"story"}


def test_the_same_rows_in_any_form_are_the_same_samples(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", UMBRELLA, MILK)
    (tmp_path / "a.json").write_text(json.dumps([UMBRELLA, MILK]), encoding="utf-8")
    table = [["text", "answer", "candidate"], list(UMBRELLA.values()), [*MILK.values(), ""]]
    for suffix, delimiter in ((".tsv", "\t"), (".csv", ",")):
        lines = "".join(delimiter.join(cells) + "\n" for cells in table)
        (tmp_path / f"a{suffix}").write_text(lines, encoding="utf-8")
    samples = [
        lambada.load_blanks(tmp_path / f"a{s}").samples for s in (".jsonl", ".json", ".tsv", ".csv")
    ]
    assert samples == [samples[0]] * 4


def test_our_own_sample_file_is_read_with_its_header(tmp_path: Path) -> None:
    content = SampleFile.of(
        [Sample("u-1", UMBRELLA, "rain")],
        dataset="ko-lambada",
        name="u",
        source="own",
        licence="Apache-2.0",
        builder="by hand",
    )
    sample_file.write(tmp_path / "u.jsonl", content)
    assert lambada.load_blanks(tmp_path / "u.jsonl") == content


def test_rows_of_a_dataset_are_read_by_its_name(tmp_path: Path) -> None:
    """A folder of data files is named as a dataset on the hub is."""
    write(tmp_path / "test.jsonl", {**UMBRELLA, "genre": "story"})
    write(tmp_path / "train.jsonl", {**MILK, "candidate": "", "genre": "story"})
    assert [sample.fields for sample in lambada.load_blanks(f"hub:{tmp_path}")] == [UMBRELLA]
    trained = lambada.load_blanks(Path(f"hub:{tmp_path}@train"))
    assert [sample.fields for sample in trained] == [MILK]


@pytest.mark.parametrize("candidate", [None, ""])
def test_an_empty_candidate_is_none(tmp_path: Path, candidate: object) -> None:
    row = {**MILK, "candidate": candidate}
    assert lambada.load_blanks(write(tmp_path / "a.jsonl", row))[0].fields == MILK


def test_other_columns_are_passed_over(tmp_path: Path) -> None:
    row = {"id": 9, "source": "airbnb", **UMBRELLA}
    assert lambada.load_blanks(write(tmp_path / "a.jsonl", row))[0].fields == UMBRELLA


def test_a_mistyped_column_is_not_passed_over(tmp_path: Path) -> None:
    row = {"text": UMBRELLA["text"], "answer": "우산", "canditate": "양산"}
    error = error_of(write(tmp_path / "a.jsonl", MILK, row))
    assert error.where == f"{tmp_path / 'a.jsonl'}:2, field 'canditate'"
    assert "did you mean 'candidate'?" in error.what


@pytest.mark.parametrize(
    ("change", "field", "what"),
    [
        ({"text": "비가 온다."}, "text", "holds 0 blanks '_', expected exactly one"),
        ({"text": "비가 와서 _을 _."}, "text", "holds 2 blanks"),
        ({"text": "비가 와서 ___을 폈다."}, "text", "holds 3 blanks"),
        ({"text": ["비"]}, "text", "expected a string"),
        ({"answer": ""}, "answer", "is empty"),
        ({"answer": " 우산"}, "answer", "outer spaces"),
        ({"answer": "우_산"}, "answer", "'_'"),
        ({"answer": 3}, "answer", "expected a string, found 3"),
        ({"answer": None}, "answer", "expected a string, found None"),
        ({"candidate": "우산"}, "candidate", "is the answer itself"),
        ({"candidate": 3}, "candidate", "expected a string"),
        ({"candidate": "양산 "}, "candidate", "outer spaces"),
    ],
)
def test_a_flawed_row_is_named(
    tmp_path: Path, change: dict[str, Any], field: str, what: str
) -> None:
    error = error_of(write(tmp_path / "a.jsonl", MILK, {**UMBRELLA, **change}))
    assert error.where == f"{tmp_path / 'a.jsonl'}:2, field {field!r}"
    assert what in error.what


@pytest.mark.parametrize("field", ["text", "answer"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    row = {name: value for name, value in MILK.items() if name != field}
    error = error_of(write(tmp_path / "a.jsonl", row))
    assert error.where == f"{tmp_path / 'a.jsonl'}:1, field {field!r}"
    assert error.what == "is missing"


def test_the_same_row_twice_names_both(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", UMBRELLA, MILK, UMBRELLA)
    error = error_of(path)
    assert error.where == f"{path}:3"
    assert f"{path}:1" in error.what


def test_a_file_without_rows_is_no_dataset(tmp_path: Path) -> None:
    assert error_of(write(tmp_path / "a.jsonl")).what == "holds no rows"


def test_a_file_of_another_benchmark_is_refused(tmp_path: Path) -> None:
    header = {"name": "r", "source": "", "licence": "", "builder": ""}
    content = SampleFile.of([Sample("r-1", MILK)], dataset="real-k", **header)
    sample_file.write(tmp_path / "r.jsonl", content)
    assert "'ko-lambada' are needed" in error_of(tmp_path / "r.jsonl").what


def test_an_unknown_ending_is_told_with_those_that_are_known(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_text("text\n", encoding="utf-8")
    assert ".jsonl, .json, .tsv, .csv" in error_of(tmp_path / "a.xlsx").remedy


def test_a_name_that_cannot_be_an_id_falls_back(tmp_path: Path) -> None:
    assert lambada.load_blanks(write(tmp_path / "한글 행.jsonl", MILK))[0].id == "ko-lambada-00001"


@pytest.mark.parametrize(
    "names", [("text", "answer"), ("text", "target"), ("sentence", "answer")], ids=" ".join
)
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_the_text_and_the_word_may_have_other_names(
    tmp_path: Path, names: tuple[str, str], ending: str
) -> None:
    text, word = names
    rows = [
        {text: UMBRELLA["text"], word: "우산", "candidate": "양산", "cluster": "rain"},
        {text: MILK["text"], word: "우유", "candidate": "", "cluster": "cat"},
    ]
    path = tmp_path / f"rows{ending}"
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
        from pyarrow import Table, parquet

        parquet.write_table(Table.from_pylist(rows), path)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(lines) if ending.endswith(".gz") else lines)
    for load in (lambada.load_blanks, lambada.load):
        read = load(path)
        assert [sample.fields for sample in read] == [UMBRELLA, MILK]
        assert [sample.cluster for sample in read] == ["rain", "cat"]


def test_a_target_beside_a_text_without_a_blank_is_no_answer(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"text": "It was getting wet in the rain", "target": "rain"})
    assert lambada.load(path).header.dataset == "lambada"


def test_an_unknown_shape_names_what_was_looked_for(tmp_path: Path) -> None:
    error = error_of(write(tmp_path / "a.jsonl", UMBRELLA, {"passage": "비가 _", "word": "와서"}))
    assert error.where == f"{tmp_path / 'a.jsonl'}:2"
    for looked in ("text, answer (", "text, target (", "sentence, answer ("):
        assert looked in error.remedy
    assert "The row holds: passage, word." in error.remedy


def test_a_flaw_is_named_by_the_field_of_the_row(tmp_path: Path) -> None:
    error = error_of(write(tmp_path / "a.jsonl", {"sentence": "비가 온다.", "answer": "비"}))
    assert error.where == f"{tmp_path / 'a.jsonl'}:1, field 'sentence'"
