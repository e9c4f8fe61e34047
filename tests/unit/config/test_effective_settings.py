"""The command line beats the file, the file beats the defaults, and each value says who gave it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.config import command_line
from ckptbench.config.effective import effective
from ckptbench.config.eval_config import check_wanted
from ckptbench.config.eval_config_file import read
from ckptbench.config.options import Options
from ckptbench.scores.metric import wanted_among

METRICS = ("gsm8k exact_match,strict-match", "gsm8k exact_match,flexible-extract")
Read = Callable[..., Options]


@pytest.fixture
def options_of(pytestconfig: pytest.Config, tmp_path: Path) -> Read:
    """The options of a session with a file and what stands on the command line."""
    defaults = command_line.read(pytestconfig, continued="run")

    def read_options(content: Any = None, **typed: Any) -> Options:
        plan = None
        if content is not None:
            file = tmp_path / "eval.json"
            file.write_text(json.dumps(content))
            plan = read(file)
        sources = dict.fromkeys(typed, "command line")
        return replace(defaults, eval_config=plan, **typed, sources=sources)

    return read_options


def test_the_file_beats_the_defaults(options_of: Read, tmp_path: Path) -> None:
    options = options_of({"tasks": {"gsm8k": {"limit": 7, "num_fewshot": 3, "batch_size": 4}}})
    found = effective(options, "gsm8k")
    assert found is not None
    assert (found.limit, found.num_fewshot, found.batch_size) == (7, 3, 4)
    place = f"{tmp_path}/eval.json: tasks.gsm8k"
    assert found.sources == {"limit": place, "num_fewshot": place, "batch_size": place}


def test_the_command_line_beats_the_file(options_of: Read, tmp_path: Path) -> None:
    options = options_of({"tasks": {"gsm8k": {"limit": 7, "num_fewshot": 3}}}, limit=2)
    found = effective(options, "gsm8k")
    assert found is not None
    assert (found.limit, found.num_fewshot) == (2, 3)
    assert found.sources["limit"] == "command line"
    assert found.sources["num_fewshot"] == f"{tmp_path}/eval.json: tasks.gsm8k"


def test_a_task_has_its_own_chat_and_settings_of_generating(
    options_of: Read, tmp_path: Path
) -> None:
    entry = {
        "apply_chat_template": True,
        "system_instruction": "Be brief.",
        "fewshot_as_multiturn": False,
        "gen_kwargs": {"temperature": 0.6, "do_sample": True},
    }
    options = options_of({"tasks": {"gsm8k": entry, "drop": {}}}, system_instruction="Be long.")
    found, plain = effective(options, "gsm8k"), effective(options, "drop")
    assert found is not None
    assert plain is not None
    assert (found.apply_chat_template, found.fewshot_as_multiturn) == (True, False)
    assert found.gen_kwargs == '{"do_sample": true, "temperature": 0.6}'
    assert found.system_instruction == plain.system_instruction == "Be long."
    place = f"{tmp_path}/eval.json: tasks.gsm8k"
    assert found.sources["gen_kwargs"] == found.sources["apply_chat_template"] == place
    assert (plain.apply_chat_template, plain.gen_kwargs) == (False, "")


def test_null_in_the_file_beats_a_limit_of_the_ini_file(options_of: Read) -> None:
    options = options_of({"tasks": {"gsm8k": {"limit": None}, "drop": {}}})
    options = replace(options, limit=9, sources={"limit": "pytest.ini"})
    everything, silent = effective(options, "gsm8k"), effective(options, "drop")
    assert everything is not None
    assert silent is not None
    assert everything.limit is None
    assert (silent.limit, silent.sources["limit"]) == (9, "pytest.ini")


def test_what_the_file_leaves_out_is_not_asked(options_of: Read) -> None:
    assert effective(options_of({"tasks": {"gsm8k": {}}}), "drop") is None


def test_without_a_file_everything_is_asked(options_of: Read) -> None:
    found = effective(options_of(limit=0.2), "anything")
    assert found is not None
    assert (found.limit, found.sources) == (0.2, {"limit": "command line"})


def test_typed_tasks_run_also_when_the_file_does_not_name_them(options_of: Read) -> None:
    options = options_of({"tasks": {"gsm8k": {"limit": 7}}}, tasks=("drop", "gsm8k"))
    typed, both = effective(options, "drop"), effective(options, "gsm8k")
    assert typed is not None
    assert both is not None
    assert (typed.limit, both.limit) == (None, 7)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, METRICS),
        (("exact_match",), METRICS),
        (("exact_match,strict-match",), METRICS[:1]),
        ((METRICS[1],), METRICS[1:]),
        (("acc",), ()),
    ],
)
def test_a_metric_is_wanted_by_any_of_its_names(
    wanted: tuple[str, ...] | None, found: tuple[str, ...]
) -> None:
    assert wanted_among(METRICS, wanted) == found


def test_a_metric_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(CkptbenchError) as refused:
        check_wanted(METRICS, ("exact_match", "exact_mach"), "eval.json: tasks.gsm8k.metrics")
    assert str(refused.value).startswith(
        "eval.json: tasks.gsm8k.metrics: no metric 'exact_mach' (did you mean 'exact_match'?)"
    )
    assert refused.value.remedy == "metrics: " + "; ".join(METRICS)
