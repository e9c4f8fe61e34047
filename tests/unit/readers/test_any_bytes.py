"""Whatever a file holds, a reader accepts it or names the file; it never ends in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptbench._util.errors import CkptbenchError
from ckptbench.readers.baseline import load
from ckptbench.readers.detect import read

QUICK = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
KEYS = st.sampled_from(
    [
        "format",
        "results",
        "benchmarks",
        "checkpoints",
        "scores",
        "config",
        "n",
        "value",
        "alias",
        "eval",
        "pass_at_k",
        "log_history",
        "step",
        "real@1",
        "versions",
        "configs",
        "n-samples",
        "real",
        "metrics",
        "base",
        "HumanEval/0",
        "ckptbench.baseline/2",
        "checkpoint",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
    | KEYS
    | st.sampled_from(["ckptbench.baseline/2", "ckptbench.summary/2"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS | st.text(max_size=3), VALUES, max_size=6)
BYTES = st.binary(max_size=60) | st.text(alphabet='{}[]",:\\ \n0eE-#&*!|>%@`x', max_size=40).map(
    str.encode
)
CONTENTS = BYTES | OBJECTS.map(lambda value: json.dumps(value).encode())
NAMES = ["a.json", "a.csv", "a_eval_results.json", "results_1.json", "trainer_state.json"]


@pytest.mark.parametrize("name", NAMES)
@given(content=CONTENTS)
@QUICK
def test_results_are_read_or_the_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    told = ""
    try:
        read(tmp_path / name)
    except CkptbenchError as error:
        told = str(error)
    assert not told or name in told


@given(content=CONTENTS)
@QUICK
def test_a_baseline_is_read_or_the_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "best.json").write_bytes(content)
    told = ""
    try:
        load(tmp_path / "best.json")
    except CkptbenchError as error:
        told = str(error)
    assert not told or "best.json" in told


@pytest.mark.parametrize("name", ["summary.json", "store.sqlite"])
@given(content=CONTENTS)
@QUICK
def test_a_runs_folder_is_read_or_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    told = ""
    try:
        read(tmp_path)
    except CkptbenchError as error:
        told = str(error)
    assert not told or tmp_path.name in told


def test_a_summary_under_another_name_is_told_by_its_own(tmp_path: Path) -> None:
    path = tmp_path / "results_1.json"
    path.write_text('{"format": "ckptbench.summary/2"}', encoding="utf-8")
    with pytest.raises(CkptbenchError, match=r"results_1\.json.*under another name"):
        read(path)
