"""The baseline file: written readable in a diff, read with every error named."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.gate.baseline import (
    FORMAT,
    Baseline,
    BaselineBenchmark,
    BaselineComposite,
    BaselineScore,
    bare_baseline,
    baseline_benchmark,
    baseline_notes,
)
from ckptbench.gate.measurement import BenchmarkMeasurement
from ckptbench.readers.baseline import baseline_schema, dump, load, write
from ckptbench.scores.aggregate import fold
from ckptbench.scores.score import SampleValues

from .conftest import as_baseline, measured

REAL = BaselineBenchmark(
    "real",
    "real/whole-word",
    True,
    "5f3a",
    3,
    ("real@1", "real@5"),
    {"real@1": BaselineScore(2 / 3, 1 / 3, 3), "real@5": BaselineScore(None, None, 2)},
    {"real@1": 0.02},
    {"c": (1.0, 1.0), "a": (0.0, None), "b": (1.0, 0.25)},
)
BASELINE = Baseline(
    FORMAT,
    "checkpoint-655",
    "9c1185a5c5e9fc54",
    {"seq_len": 512, "dtype": "fp32", "temperature": 0.5, "adapter": None, "compile": False},
    "2025-01-31T09:30:00+09:00",
    "0.1.0",
    {"real/whole-word": REAL},
    BaselineComposite({"real@1": 0.4, "real@5": 0.6}, None),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "best.json"


# Written


def test_what_is_written_is_what_is_read(path: Path) -> None:
    write(BASELINE, path)
    assert load(path) == BASELINE


def test_without_a_composite_too(path: Path) -> None:
    bare = replace(BASELINE, composite=None, benchmarks={})
    write(bare, path)
    assert load(path) == bare


def test_each_sample_is_one_line_and_lines_are_sorted_by_hash() -> None:
    lines = dump(BASELINE).splitlines()
    first = lines.index('      "outcomes": {')
    assert lines[first + 1 : first + 4] == [
        '        "a": [0, null],',
        '        "b": [1, 0.25],',
        '        "c": [1, 1]',
    ]


def test_one_changed_sample_changes_one_line() -> None:
    changed = replace(REAL, outcomes={**REAL.outcomes, "b": (0.0, 0.25)})
    other = replace(BASELINE, benchmarks={"real/whole-word": changed})
    pairs = zip(dump(BASELINE).splitlines(), dump(other).splitlines(), strict=True)
    assert [pair for pair in pairs if pair[0] != pair[1]] == [
        ('        "b": [1, 0.25],', '        "b": [0, 0.25],')
    ]


def test_the_file_starts_with_its_format_and_ends_with_a_line_end() -> None:
    text = dump(BASELINE)
    assert text.startswith('{\n  "format": "ckptbench.baseline/2",\n  "checkpoint": ')
    assert text.endswith("}\n")


@pytest.mark.parametrize(
    "spoilt",
    [
        {"scores": {"real@1": BaselineScore(float("nan"))}},
        {"outcomes": {"a": (1.0, float("nan"))}},
    ],
)
def test_nan_is_never_written(spoilt: dict[str, Any]) -> None:
    broken = replace(REAL, **spoilt)
    with pytest.raises(ValueError, match="JSON compliant"):
        dump(replace(BASELINE, benchmarks={"real/whole-word": broken}))


def test_a_benchmark_of_this_run_keeps_its_table_and_scores() -> None:
    values = np.array([[1.0, 1.0], [0.0, np.nan]])
    table = SampleValues(("pass@1", "pass@5"), ("a", "b"), ("a", "b"), values)
    held = baseline_benchmark(
        BenchmarkMeasurement("humaneval", "humaneval/raw", True, fold(table), table, "d")
    )
    assert held.outcomes == {"a": (1.0, 1.0), "b": (0.0, None)}
    assert held.scores["pass@1"] == BaselineScore(0.5, 0.5, 2)
    assert held.scores["pass@5"].value is None
    assert held.column("pass@5") == {"a": 1.0}
    assert held.column("pass@10") == {}


def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(BASELINE, path)
    before = path.read_bytes()

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(CkptbenchError, match="No space left on device"):
        write(replace(BASELINE, checkpoint="other"), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# The schema


def test_the_schema_accepts_what_is_written() -> None:
    jsonschema.Draft202012Validator.check_schema(baseline_schema())
    jsonschema.validate(json.loads(dump(BASELINE)), baseline_schema())


@pytest.mark.parametrize(
    "change", [{"format": "x"}, {"extra": 1}, {"benchmarks": []}, {"settings": {"seq_len": [1]}}]
)
def test_the_schema_refuses_what_is_not_a_baseline(change: dict[str, Any]) -> None:
    content = {**json.loads(dump(BASELINE)), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, baseline_schema())


# Read: every error names the place


def refused(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CkptbenchError) as caught:
        load(path)
    assert str(path) in caught.value.where
    assert caught.value.remedy
    return f"{caught.value.where.removeprefix(str(path))} | {caught.value.what}"


def changed(path: Path, old: str, new: str) -> str:
    text = dump(BASELINE)
    assert old in text
    return refused(path, text.replace(old, new, 1))


IN_REAL = ": benchmarks → real/whole-word"


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            '"protocol": "real',
            '"protcol": "real',
            f"{IN_REAL} | unknown key 'protcol' (did you mean 'protocol'?) (and 1 more)",
        ),
        ('"created"', '"creatd"', ": top level | unknown key 'creatd' (did you mean 'created'?)"),
        (
            '"weights"',
            '"weigths"',
            ": composite | unknown key 'weigths' (did you mean 'weights'?)",
        ),
        (
            '"value": 0.66',
            '"valeu": 0.66',
            f"{IN_REAL} → scores → real@1 | unknown key 'valeu' (did you mean 'value'?)",
        ),
        ('"ckptbench": "0.1.0",', "", ": top level | the key 'ckptbench' is missing"),
        ('"n": 3,', '"n": "3",', f"{IN_REAL} | 'n' is '3': input should be a valid integer"),
        ('"n": 3,', '"n": true,', f"{IN_REAL} | 'n' is True: input should be a valid integer"),
        ('"n": 3,', '"n": -3,', f"{IN_REAL} | 'n' is -3"),
        ('"primary": true', '"primary": 1', f"{IN_REAL} | 'primary' is 1: input should be a valid"),
        (
            '"seq_len": 512',
            '"seq_len": [512]',
            ": settings | 'seq_len' is [512], not a string, a number, true, false or null",
        ),
        (
            '"value": 0.6666666666666666',
            '"value": 66.7',
            f"{IN_REAL} → scores → real@1 | 'value' is 66.7, not a fraction from 0 to 1",
        ),
        (
            '"standard_error": 0.3333333333333333',
            '"standard_error": -0.3',
            f"{IN_REAL} → scores → real@1 | 'standard_error' is -0.3",
        ),
        (
            '"real@1": 0.02',
            '"real@1": 2.0',
            f"{IN_REAL} → tolerance | 'real@1' is 2.0, not a fraction from 0 to 1",
        ),
        (
            '"real@1": 0.02',
            '"rael@1": 0.02',
            f"{IN_REAL} → tolerance | unknown metric 'rael@1' (did you mean 'real@1'?)",
        ),
        ('"a": [0, null]', '"a": [0]', f"{IN_REAL} → outcomes → a | has 1 values for 2 metrics"),
        (
            '"a": [0, null]',
            '"a": [3, null]',
            f"{IN_REAL} → outcomes → a | 'real@1' is 3.0, not a fraction from 0 to 1",
        ),
        ('"a": [0, null]', '"a": [0, NaN]', " | holds NaN, which is not JSON"),
        ('"a": [0, null]', '"a": [0, 1e999]', f"{IN_REAL} → outcomes → a | '1' is inf: input"),
        ('"a": [0, null]', '"b": [0, null]', " | holds the key 'b' twice"),
        (
            '"protocol": "real/whole-word"',
            '"protocol": "real/origin"',
            f"{IN_REAL} | is benchmark 'real' under protocol 'real/origin'",
        ),
        (
            "baseline/2",
            "baseline/3",
            " | has the format 'ckptbench.baseline/3'; this version reads 'ckptbench.baseline/2'",
        ),
        ("baseline/2", "summary/1", " | has the format 'ckptbench.summary/1'"),
        ('"format": "ckptbench.baseline/2",', "", ": top level | the key 'format' is missing"),
        ('512,\n    "dtype"', '\n    "dtype"', ":7:12 | is not JSON: Expecting ',' delimiter"),
    ],
)
def test_a_wrong_place_is_named(path: Path, old: str, new: str, error: str) -> None:
    assert changed(path, old, new).startswith(error)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", ":1:1 | is not JSON"),
        ("[1, 2]", " | is a JSON list, not an object"),
        ("{" + '"a": {' * 100_000, " | cannot be read: "),
        ('{"real@1": ' + "9" * 5_000 + "}", " | cannot be read: "),
    ],
)
def test_what_is_no_object_is_refused(path: Path, text: str, error: str) -> None:
    assert refused(path, text).startswith(error)


def test_a_missing_file_and_one_that_is_not_text(path: Path) -> None:
    with pytest.raises(CkptbenchError, match="there is no such baseline"):
        load(path)
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(CkptbenchError, match=r"is not UTF-8 text \(byte 7\)"):
        load(path)


def test_a_byte_order_mark_is_no_error(path: Path) -> None:
    path.write_text("\ufeff" + dump(BASELINE), encoding="utf-8")
    assert load(path) == BASELINE


def test_only_shares_must_lie_between_0_and_1(path: Path) -> None:
    held = BaselineBenchmark(
        "ppl", "ppl/raw", False, "", 1, ("ppl",), {"ppl": BaselineScore(23.5)}, {}, {"a": (23.5,)}
    )
    write(replace(BASELINE, benchmarks={"ppl/raw": held}), path)
    assert load(path).benchmarks["ppl/raw"] == held


# A run's folder


def test_a_folder_with_one_baseline_is_that_baseline(tmp_path: Path) -> None:
    write(BASELINE, tmp_path / "checkpoint-655_baseline.json")
    (tmp_path / "summary.json").write_text("{}")
    assert load(tmp_path) == BASELINE


def test_a_folder_with_several_names_them(tmp_path: Path) -> None:
    for name in ("b", "a"):
        write(BASELINE, tmp_path / f"{name}_baseline.json")
    with pytest.raises(CkptbenchError, match=r"several baselines: a_base.*, b_baseline"):
        load(tmp_path)


def test_a_folder_without_one_says_so(tmp_path: Path) -> None:
    with pytest.raises(CkptbenchError, match=r"holds no \*_baseline.json"):
        load(tmp_path)


OLDER = """{
  "format": "ckptbench.baseline/1",
  "checkpoint": "checkpoint-655",
  "fingerprint": "9c1185a5c5e9fc54",
  "settings": {},
  "created": "",
  "ckptbench": "0.1.0",
  "benchmarks": {
    "code/raw": {
      "benchmark": "code", "protocol": "code/raw", "primary": true, "dataset": "", "n": 1,
      "metrics": ["pass@1", "pass@5"],
      "scores": {
        "pass@1": {"value": 1.0, "standard_error": null, "n": 1},
        "pass@5": {"value": null, "standard_error": null, "n": 0}
      },
      "tolerance": {}, "outcomes": {"a": [1, null]}
    }
  },
  "composite": null
}
"""


def test_an_older_format_is_read_with_what_it_lacks_as_unknown(tmp_path: Path) -> None:
    path = tmp_path / "older.json"
    path.write_text(OLDER, encoding="utf-8")
    held = load(path).benchmarks["code/raw"]
    assert (held.settings, held.trials, held.clusters) == ({}, 1, {})
    assert (held.scores["pass@1"].unit, held.scores["pass@1"].higher_is_better) == ("share", True)
    assert held.column("pass@5") == {}


def test_settings_that_differ_are_told_where_both_sides_state_them() -> None:
    baseline = as_baseline(measured("real/x", {"real@1": [1.0]}))
    assert baseline.settings == {"seq_len": 512, "dtype": "fp32"}
    assert list(baseline_notes(baseline, {"seq_len": 512, "new": 1})) == []
    assert list(baseline_notes(baseline, {"seq_len": 128, "dtype": "fp16", "new": 1})) == [
        "the baseline was made with seq_len 512, dtype fp32; this run uses seq_len 128, dtype fp16"
    ]
    (note,) = baseline_notes(bare_baseline({"real@1": BaselineScore(0.5)}), {"seq_len": 128})
    assert "bare numbers without a protocol" in note


def test_without_a_number_of_trials_each_sample_was_asked_once() -> None:
    bench = measured("real/x", {"real@1": [1.0, 0.0]})
    held = baseline_benchmark(replace(bench, table=replace(bench.table, trials=())))  # type: ignore[type-var]
    assert (held.trials, held.trials_of("s00000"), held.clusters) == (1, 1, {})
    none = measured("real/x", {"real@1": [float("nan")] * 2})
    assert baseline_benchmark(none).scores["real@1"].n == 0
    assert baseline_benchmark(replace(none, table=None)).scores["real@1"].n is None
    old = BaselineBenchmark("real", "real/x", True, "", 2, (), {})
    assert old.trials_of("s00000") == 1


def test_one_number_of_trials_is_written_once_and_several_by_sample() -> None:
    bench = measured("code/x", {"pass@1": [1.0, 0.5, 0.0]}, trials=4)
    assert baseline_benchmark(bench).trials == 4
    assert bench.table is not None
    uneven = replace(bench, table=replace(bench.table, trials=(4, 4, 2)))
    held = baseline_benchmark(uneven)
    assert held.trials == {"s00000": 4, "s00001": 4, "s00002": 2}
    assert [held.trials_of(name) for name in ("s00002", "another")] == [2, 1]
    unknown = replace(bench, table=replace(bench.table, trials=()))
    assert baseline_benchmark(unknown).trials == 1
