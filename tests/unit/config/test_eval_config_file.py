"""A configuration file: what it comes to, and how its mistakes are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.config.eval_config import NO_PRIORITY, EvalPlan
from ckptbench.config.eval_config_file import find, read

WHOLE = {
    "benchmarks": {
        "korean": {"enabled": True, "description": "Korean", "tasks": ["real", "lambada"]},
        "reasoning": {"enabled": True, "description": "sums", "tasks": ["gsm8k", "science"]},
        "code": {"enabled": False, "tasks": ["humaneval"]},
    },
    "tasks": {
        "real": {"enabled": True, "limit": 50, "priority": 2},
        "gsm8k": {
            "enabled": True,
            "num_fewshot": 5,
            "batch_size": 8,
            "limit": 0.2,
            "description": "school mathematics",
            "metrics": ["exact_match"],
            "output_path": "out/gsm8k.json",
            "log_samples": True,
            "priority": 1,
            "timeout": 3600,
        },
        "science": {"tasks": ["arc_easy", "arc_challenge"], "batch_size": "auto", "limit": None},
        "winogrande": {"enabled": True},
    },
}
TOML = """
[benchmarks.korean]
enabled = true
description = "Korean"
tasks = ["real", "lambada"]
[benchmarks.reasoning]
enabled = true
description = "sums"
tasks = ["gsm8k", "science"]
[benchmarks.code]
enabled = false
tasks = ["humaneval"]
[tasks.real]
enabled = true
limit = 50
priority = 2
[tasks.gsm8k]
enabled = true
num_fewshot = 5
batch_size = 8
limit = 0.2
description = "school mathematics"
metrics = ["exact_match"]
output_path = "out/gsm8k.json"
log_samples = true
priority = 1
timeout = 3600
[tasks.science]
tasks = ["arc_easy", "arc_challenge"]
batch_size = "auto"
[tasks.winogrande]
enabled = true
"""


def plan_of(folder: Path, content: Any, name: str = "eval.json") -> EvalPlan:
    file = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_text(text, encoding="utf-8")
    return read(file)


def told(folder: Path, content: Any, name: str = "eval.json") -> str:
    """What is said of a file that cannot be used, without the folder's name."""
    with pytest.raises(CkptbenchError) as refused:
        plan_of(folder, content, name)
    return str(refused.value).replace(f"{folder}/", "")


def names(plan: EvalPlan) -> list[tuple[str, ...]]:
    return [each.names for each in plan.settings]


# What a file comes to


def test_every_key_is_obeyed(tmp_path: Path) -> None:
    settings = plan_of(tmp_path, WHOLE).of("gsm8k")
    assert settings is not None
    assert settings.entry == "tasks.gsm8k"
    assert settings.values == {
        "num_fewshot": 5,
        "batch_size": 8,
        "limit": 0.2,
        "metrics": ("exact_match",),
        "timeout_s": 3600,
        "output_path": "out/gsm8k.json",
        "log_samples": True,
        "priority": 1,
    }


def test_priority_orders_and_the_order_of_the_file_decides_among_equals(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, WHOLE)
    assert names(plan) == [("gsm8k",), ("real",), ("lambada",), ("arc_easy", "arc_challenge")]
    assert [each.priority for each in plan.settings] == [1, 2, NO_PRIORITY, NO_PRIORITY]


def test_only_tasks_of_enabled_benchmarks_run(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, WHOLE)
    assert plan.of("humaneval") is None
    assert plan.of("winogrande") is None
    assert plan.notes == (f"{tmp_path}/eval.json: no benchmark names the tasks winogrande",)


def test_a_disabled_task_does_not_run_though_its_benchmark_does(tmp_path: Path) -> None:
    content = json.loads(json.dumps(WHOLE))
    content["tasks"]["gsm8k"]["enabled"] = False
    assert plan_of(tmp_path, content).of("gsm8k") is None


@pytest.mark.parametrize(("limit", "has"), [({"limit": None}, True), ({}, False)])
def test_null_asks_everything_and_silence_decides_nothing(
    tmp_path: Path, limit: dict[str, None], has: bool
) -> None:
    settings = plan_of(tmp_path, {"tasks": {"gsm8k": limit}}).of("gsm8k")
    assert settings is not None
    assert settings.values == ({"limit": None} if has else {})


def test_benchmarks_may_be_a_list_of_those_that_run(tmp_path: Path) -> None:
    content = {"benchmarks": ["real", "gsm8k"], "tasks": WHOLE["tasks"]}
    plan = plan_of(tmp_path, content)
    assert names(plan) == [("gsm8k",), ("real",)]
    assert [each.name for each in plan.listed] == ["real", "gsm8k"]


def test_without_benchmarks_every_task_runs(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, {"tasks": {"gsm8k": {}, "drop": {"enabled": False}}})
    assert names(plan) == [("gsm8k",)]
    assert [(each.name, each.enabled) for each in plan.listed] == [("gsm8k", True), ("drop", False)]


def test_yaml_and_toml_of_the_same_come_to_the_same(tmp_path: Path) -> None:
    import yaml

    of_json = plan_of(tmp_path, WHOLE)
    of_yaml = plan_of(tmp_path, yaml.safe_dump(WHOLE, sort_keys=False), "eval.yaml")
    assert (of_yaml.settings, of_yaml.listed) == (of_json.settings, of_json.listed)
    # TOML has no null: `science` says nothing of its limit there.
    of_toml = plan_of(tmp_path, TOML, "eval.toml")
    assert of_toml.listed == of_json.listed
    assert of_toml.settings[:3] == of_json.settings[:3]
    assert of_toml.settings[3].names == of_json.settings[3].names


# Mistakes


def test_every_mistake_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    content = {
        "benchmarks": {"korean": {"enabled": "yes", "taks": ["real"]}},
        "tasks": {
            "gsm8k": {"limt": 1, "limit": 1.5, "num_fewshot": -1, "timeout": 0},
            "drop": {"batch_size": 0, "metrics": "f1", "priority": "high", "colour": "red"},
        },
        "task": {},
    }
    lines = told(tmp_path, content).splitlines()
    assert lines[0] == "eval.json: 11 mistakes:"
    assert sorted(line.strip() for line in lines[1:]) == sorted(
        [
            'benchmarks.korean.enabled: expected true or false, got "yes"',
            "benchmarks.korean.taks: unknown key (did you mean 'tasks'?)",
            "tasks.gsm8k.limt: unknown key (did you mean 'limit'?)",
            "tasks.gsm8k.limit: expected a number of samples such as 200, a share between 0 and 1 "
            "such as 0.2, or null, got 1.5",
            "tasks.gsm8k.num_fewshot: expected greater than or equal to 0, got -1",
            "tasks.gsm8k.timeout: expected a number of seconds above 0, got 0",
            "tasks.drop.batch_size: expected a whole number of at least 1, or 'auto', got 0",
            'tasks.drop.metrics: expected a list, got "f1"',
            'tasks.drop.priority: expected a whole number, got "high"',
            "tasks.drop.colour: unknown key, known are enabled, tasks, num_fewshot, batch_size, "
            "limit, description, metrics, output_path, log_samples, priority, timeout, "
            "apply_chat_template, system_instruction, fewshot_as_multiturn, gen_kwargs, data",
            "task: unknown key (did you mean 'tasks'?)",
        ]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"tasks": {"gsm8k": {"limit": 1,}}}',
            "eval.json:1:33: not valid JSON: ",
        ),
        ('{"tasks": ["gsm8k"]}', "eval.json: 1 mistake:\n  tasks: expected an object, got"),
        ('{"tasks": {"gsm8k": 5}}', "eval.json: 1 mistake:\n  tasks.gsm8k: expected an object"),
        ('{"benchmarks": 3}', "1 mistake:\n  benchmarks: expected an object by name, or a list"),
        ('{"benchmarks": [1]}', "1 mistake:\n  benchmarks.0: expected a text, got 1"),
        ("[]", "eval.json: expected an object with `benchmarks` and `tasks`, got list"),
        (
            '{"tasks": {"gsm8k": {"limit": 1}, "gsm8k": {"limit": 2}}}',
            "eval.json: duplicate keys: gsm8k",
        ),
        (
            '{"tasks": {"a": {"tasks": "gsm8k"}, "b": {"tasks": ["gsm8k"]}}}',
            "eval.json: tasks.a and tasks.b both ask gsm8k",
        ),
        (
            '{"tasks": {"a": {"gen_kwargs": {"tempature": 1}}}}',
            "tasks.a.gen_kwargs: expected settings that are obeyed (unknown key 'tempature' (did",
        ),
        (
            '{"tasks": {"a": {"gen_kwargs": "temperature=1"}}}',
            "tasks.a.gen_kwargs: expected an object such as",
        ),
        (
            '{"tasks": {"a": {"apply_chat_template": 3}}}',
            "tasks.a.apply_chat_template: expected true, false, or the name of a chat template",
        ),
        ("", "eval.json:1:1: not valid JSON: "),
    ],
)
def test_one_mistake_is_one_clear_message(tmp_path: Path, text: str, message: str) -> None:
    assert message in told(tmp_path, text)


def test_a_trailing_comma_is_named(tmp_path: Path) -> None:
    text = '{\n  "tasks": {\n    "gsm8k": {"limit": 1},\n  }\n}\n'
    assert told(tmp_path, text).endswith("remove the comma before it")


def test_a_yaml_key_that_stands_twice_is_refused_as_in_json(tmp_path: Path) -> None:
    text = "tasks:\n  gsm8k: {limit: 1}\n  gsm8k: {limit: 2}\n"
    assert "duplicate keys: gsm8k" in told(tmp_path, text, "eval.yaml")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("eval.yaml", "tasks: [gsm8k\n", "eval.yaml:2:1: not valid YAML: "),
        ("eval.yaml", "tasks: &a\n  real: *a\n", "eval.yaml: is nested too deep, or holds itself"),
        ("eval.json", "[" * 100_000, "eval.json: is nested too deep, or holds itself"),
        ("eval.toml", "tasks = {gsm8k = }\n", "eval.toml: not valid TOML: "),
        ("eval.ini", "", "a configuration file ends in .json, .yaml, .yml, .toml"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    assert message in told(tmp_path, text, name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("eval.json", '{"tasks": {"gsm8k": {"limit": 7}}}'),
        ("eval.yaml", "tasks: {gsm8k: {limit: 7}}"),
        ("eval.toml", "[tasks.gsm8k]\nlimit = 7\n"),
    ],
)
def test_a_byte_order_mark_is_passed_over(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8-sig")
    (settings,) = read(tmp_path / name).settings
    assert settings.values == {"limit": 7}


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "eval2.json").write_text("{}")
    with pytest.raises(
        CkptbenchError, match=r"there is no such file \(did you mean 'eval2.json'\?\)"
    ):
        read(tmp_path / "eval.json")


# Configurations that come with ckptbench, by name


@pytest.mark.parametrize("name", ["quick", "eval_config", "base-vs-finetuned"])
def test_a_shipped_file_is_found_by_its_name(name: str, tmp_path: Path) -> None:
    found = find(Path(name), tmp_path)
    assert found.read_text("utf-8") == (
        Path(__file__).parents[3] / f"configs/{name}.json"
    ).read_text("utf-8")
    assert read(found).settings


def test_a_file_in_the_folder_comes_before_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "quick").write_text("{}", encoding="utf-8")
    assert find(Path("quick"), tmp_path) == tmp_path / "quick"
    assert find(Path("sub/quick"), tmp_path) == tmp_path / "sub/quick"


@pytest.mark.parametrize(("given", "meant"), [("quik", "quick"), ("mine.jsn", "mine.json")])
def test_a_name_of_neither_gets_the_nearest_and_all_that_are_shipped(
    given: str, meant: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    with pytest.raises(CkptbenchError, match=rf"did you mean '{meant}'") as refused:
        find(Path(given), tmp_path)
    assert "shipped are base-vs-finetuned, eval_config, quick;" in refused.value.remedy
