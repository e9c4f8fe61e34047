"""From a JSON, YAML or TOML file to an `EvalPlan`. Every mistake in it is told at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._util.errors import CkptbenchError, nearest
from .eval_config import NO_PRIORITY, EvalPlan, Listed, TaskSettings
from .eval_config_model import BenchmarkEntry, EvalConfig, TaskEntry

SUFFIXES = (".json", ".yaml", ".yml", ".toml")


def read(path: Path) -> EvalPlan:
    """Read and check a configuration file.

    Raises:
        CkptbenchError: it cannot be read, or holds mistakes: each with its place and, for a key
            that is not known, the nearest that is.
    """
    return plan(_validated(_parsed(path), path), path)


def _parsed(path: Path) -> Any:
    where = str(path)
    if path.suffix not in SUFFIXES:
        raise CkptbenchError(
            f"a configuration file ends in {', '.join(SUFFIXES)}", where=f"--eval-config={where}"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        there = [each.name for each in path.parent.glob("*") if each.suffix in SUFFIXES]
        hint = nearest(path.name, there)
        raise CkptbenchError(f"there is no such file{hint}", where=where) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CkptbenchError(f"cannot be read: {error}", where=where) from None
    if path.suffix == ".json":
        return _json(text, where)
    return _toml(text, where) if path.suffix == ".toml" else _yaml(text, where)


def _json(text: str, where: str) -> Any:
    twice: list[str] = []

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        twice.extend(_repeated([name for name, _ in pairs]))
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=whole)
    except json.JSONDecodeError as error:
        before = text[: error.pos].rstrip()
        hint = "take away the comma before it" if before.endswith(",") else ""
        raise CkptbenchError(
            f"no JSON: {error.msg}", where=f"{where}:{error.lineno}:{error.colno}", remedy=hint
        ) from None
    _refuse_repeated(twice, where)
    return value


def _repeated(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _refuse_repeated(twice: list[str], where: str) -> None:
    if twice:
        raise CkptbenchError(f"a key stands twice in one place: {', '.join(twice)}", where=where)


def _toml(text: str, where: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CkptbenchError(f"no TOML: {error}", where=where) from None


def _yaml(text: str, where: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise CkptbenchError(
            "a YAML file needs PyYAML", where=where, remedy="pip install pyyaml, or write JSON"
        ) from None
    try:
        _refuse_repeated(_repeated_in(yaml.compose(text, Loader=yaml.SafeLoader)), where)
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise CkptbenchError(f"no YAML: {problem}", where=f"{where}{place}") from None


def _repeated_in(node: Any) -> list[str]:
    """Keys that stand twice in one mapping of a YAML document, of which YAML takes the last."""
    if node is None or isinstance(node.value, str):
        return []
    parts = [
        each for entry in node.value for each in (entry if isinstance(entry, tuple) else [entry])
    ]
    keys = [str(entry[0].value) for entry in node.value if isinstance(entry, tuple)]
    return _repeated(keys) + [name for part in parts for name in _repeated_in(part)]


def _validated(value: Any, path: Path) -> EvalConfig:
    from pydantic import ValidationError

    if not isinstance(value, dict):
        raise CkptbenchError(
            f"expected an object with `benchmarks` and `tasks`, got {type(value).__name__}",
            where=str(path),
        )
    try:
        return EvalConfig.model_validate(value)
    except ValidationError as error:
        told = list(dict.fromkeys(_told(error.errors(include_url=False))))
        count = "1 mistake" if len(told) == 1 else f"{len(told)} mistakes"
        lines = "".join(f"\n  {line}" for line in told)
        raise CkptbenchError(f"{count}:{lines}", where=str(path)) from None


def _told(errors: Any) -> Iterator[str]:
    """One line a mistake: the place, what was expected and what stands there."""
    for error in errors:
        # The two forms of `benchmarks` have names in pydantic's places, which no file has.
        section, *rest = error["loc"]
        if section == "benchmarks" and rest and rest[0] in ("object", "list"):
            rest = rest[1:]
        parts = [section, *rest]
        place = ".".join(str(part) for part in parts)
        if error["type"] == "extra_forbidden":
            known = _known(parts)
            near = nearest(str(parts[-1]), known)
            yield f"{place}: unknown key{near or ', known are ' + ', '.join(known)}"
            continue
        expected = _EXPECTED.get(error["type"]) or str(error["msg"])
        expected = expected.removeprefix("Value error, ").removeprefix("Input should be ")
        shown = json.dumps(error.get("input"), ensure_ascii=False, default=str)
        shown = shown if len(shown) < 60 else f"{shown[:57]}..."
        yield f"{place}: expected {expected}, got {shown}"


_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "union_tag_not_found": "an object by name, or a list of names",
    "union_tag_invalid": "an object by name, or a list of names",
}


def _known(parts: list[Any]) -> list[str]:
    if len(parts) == 1:
        return list(EvalConfig.model_fields)
    return list((TaskEntry if parts[0] == "tasks" else BenchmarkEntry).model_fields)


def plan(config: EvalConfig, path: Path) -> EvalPlan:
    """Which entries run, in which order.

    Raises:
        CkptbenchError: two entries that run mean the same benchmark or task.
    """
    entries = config.tasks
    if config.benchmarks is None:
        listed = tuple(_listed_task(name, entry) for name, entry in entries.items())
        running = [name for name, entry in entries.items() if entry.enabled]
        return _whole(path, running, entries, listed, ())
    named = (
        {name: BenchmarkEntry() for name in config.benchmarks}
        if isinstance(config.benchmarks, list)
        else config.benchmarks
    )
    listed = tuple(
        Listed(name, entry.enabled, tuple(entry.tasks) or (name,), entry.description)
        for name, entry in named.items()
    )
    asked = [task for each in listed if each.enabled for task in each.tasks]
    enabled = [name for name in asked if name not in entries or entries[name].enabled]
    running = list(dict.fromkeys(enabled))
    mentioned = {task for each in listed for task in each.tasks}
    left = [name for name in entries if name not in mentioned]
    notes = (f"{path}: no benchmark names the tasks {', '.join(left)}",) if left else ()
    return _whole(path, running, entries, listed, notes)


def _listed_task(name: str, entry: TaskEntry) -> Listed:
    return Listed(name, entry.enabled, _names(name, entry), entry.description)


def _whole(
    path: Path,
    running: list[str],
    entries: Mapping[str, TaskEntry],
    listed: tuple[Listed, ...],
    notes: tuple[str, ...],
) -> EvalPlan:
    settings = [_settings(name, entries.get(name)) for name in running]
    settings.sort(key=lambda each: each.priority)
    owner: dict[str, str] = {}
    for each in settings:
        for name in each.names:
            if owner.setdefault(name, each.entry) != each.entry:
                raise CkptbenchError(
                    f"{owner[name]} and {each.entry} both ask {name}", where=str(path)
                )
    mentioned = dict.fromkeys([*entries, *(task for each in listed for task in each.tasks)])
    # Where an entry has other names for what it asks, its own name is none of a task.
    idle = [
        _settings(name, entries.get(name))
        for name in mentioned
        if name not in running and name not in owner
    ]
    return EvalPlan(str(path), tuple(settings), listed, notes, tuple(idle))


def _names(name: str, entry: TaskEntry) -> tuple[str, ...]:
    given = [entry.tasks] if isinstance(entry.tasks, str) else entry.tasks
    return tuple(given or [name])


def _settings(name: str, entry: TaskEntry | None) -> TaskSettings:
    if entry is None:
        return TaskSettings(f"benchmarks.{name}", (name,))
    batch_size = 0 if entry.batch_size == "auto" else entry.batch_size
    return TaskSettings(
        entry=f"tasks.{name}",
        names=_names(name, entry),
        num_fewshot=entry.num_fewshot,
        batch_size=batch_size,
        limit=entry.limit,
        has_limit="limit" in entry.model_fields_set,
        description=entry.description,
        metrics=None if entry.metrics is None else tuple(entry.metrics),
        output_path=entry.output_path or "",
        log_samples=entry.log_samples,
        priority=NO_PRIORITY if entry.priority is None else entry.priority,
        timeout_s=entry.timeout,
        apply_chat_template=entry.apply_chat_template,
        system_instruction=entry.system_instruction,
        fewshot_as_multiturn=entry.fewshot_as_multiturn,
        gen_kwargs=entry.gen_kwargs,
    )
