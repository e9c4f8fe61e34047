"""Whatever a configuration file holds, it is accepted or the file is named: never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptbench._util.errors import CkptbenchError
from ckptbench.config.eval_config_file import read

KEYS = st.sampled_from(
    [
        "benchmarks",
        "tasks",
        "real",
        "gsm8k",
        "limit",
        "enabled",
        "num_fewshot",
        "priority",
        "output_path",
        "gen_kwargs",
        "metrics",
        "batch_size",
        "timeout",
        "temperature",
        "data",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(KEYS | st.text(max_size=3), VALUES, max_size=4).map(
    lambda value: json.dumps(value).encode()
)
LIKE_TEXT = st.text(alphabet="{}[]\",:\\ \n0eE-#&*!|>%@`x=.'?~", max_size=40).map(str.encode)


def accepted(path: Path, content: bytes) -> bool:
    """Whether a file is accepted; a refusal must name it."""
    path.write_bytes(content)
    told = ""
    try:
        read(path)
    except CkptbenchError as error:
        told = str(error)
    assert not told or path.name in told
    return not told


@pytest.mark.parametrize("name", ["eval.json", "eval.yaml", "eval.toml"])
@given(content=MAPPINGS | LIKE_TEXT | st.binary(max_size=60))
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_content_is_accepted_or_the_file_is_named(
    tmp_path: Path, name: str, content: bytes
) -> None:
    accepted(tmp_path / name, content)


@pytest.mark.parametrize("name", ["eval.json", "eval.yaml"])
def test_half_a_character_as_a_key_is_refused(tmp_path: Path, name: str) -> None:
    assert not accepted(tmp_path / name, b'{"\\ud800": 1}')
    assert accepted(tmp_path / name, b'{"tasks": {"real": {"limit": 3}}}')
