"""Reads a JSON, YAML or TOML file into an `EvalPlan`. All mistakes in it are reported at once.

pydantic validates it: unknown keys and wrong types are errors.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    ValidationError,
    model_validator,
)

from .._util.errors import CkptbenchError, nearest
from .._util.jsonio import is_count
from .._util.text import counted
from .eval_config import EvalPlan, Listed, TaskSettings
from .key_values import checked_gen_kwargs, is_texts

SUFFIXES = (".json", ".yaml", ".yml", ".toml")


def _one(what: str, fits: Callable[[Any], bool]) -> PlainValidator:
    """A validator of a value that may be null or have one of several forms, named by `what`."""

    def check(value: Any) -> Any:
        if value is not None and not fits(value):
            raise ValueError(what)
        return value

    return PlainValidator(check)


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _gen_kwargs(value: Any) -> str | None:
    """Generation settings as JSON, as in options."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError('an object such as {"temperature": 0.6, "do_sample": true}')
    try:
        return checked_gen_kwargs(value)
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"settings that are obeyed ({error})") from None


def _form(value: Any) -> str | None:
    if isinstance(value, list):
        return "list"
    return "object" if isinstance(value, dict) else None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BenchmarkEntry(_Strict):
    """A benchmark of the suite, or a name for several tasks.

    Attributes:
        enabled: whether it runs.
        description: for people.
        tasks: entries of `tasks`, benchmarks of the suite, or names of lm-eval tasks; empty for a
            benchmark of the suite itself.
    """

    enabled: StrictBool = True
    description: StrictStr = ""
    tasks: list[StrictStr] = Field(default_factory=list)


class TaskEntry(_Strict):
    """Settings of a task, or of several that share them; see `docs/configuration.md`.

    Attributes:
        enabled: whether it runs.
        tasks: names of lm-eval tasks, groups or tags; without them, the entry's own name.
        limit: null takes all samples, so it is not the same as no limit in the file.
        description: for people.
        timeout: in seconds.
        data: the data file, of a single benchmark that reads one.
    """

    enabled: StrictBool = True
    tasks: Annotated[
        list[str] | str | None,
        _one("a name, or a list of names", lambda value: value != [] and is_texts(value)),
    ] = None
    num_fewshot: Annotated[StrictInt, Field(ge=0)] | None = None
    batch_size: Annotated[
        int | Literal["auto"] | None,
        _one(
            "a whole number of at least 1, or 'auto'",
            lambda value: value == "auto" or is_count(value),
        ),
    ] = None
    limit: Annotated[
        int | float | None,
        _one(
            "a number of samples such as 200, a share between 0 and 1 such as 0.2, or null",
            lambda value: is_count(value) or (_positive(value) and value < 1),
        ),
    ] = None
    description: StrictStr = ""
    metrics: list[StrictStr] | None = None
    output_path: StrictStr | None = None
    log_samples: StrictBool = False
    priority: StrictInt | None = None
    timeout: Annotated[float | None, _one("a number of seconds above 0", _positive)] = None
    apply_chat_template: Annotated[
        bool | str | None,
        _one(
            "true, false, or the name of a chat template",
            lambda value: isinstance(value, bool) or (isinstance(value, str) and value != ""),
        ),
    ] = None
    system_instruction: StrictStr | None = None
    fewshot_as_multiturn: StrictBool | None = None
    gen_kwargs: Annotated[str | None, PlainValidator(_gen_kwargs)] = None
    data: Annotated[
        str | None, _one("a file", lambda value: isinstance(value, str) and value != "")
    ] = None

    @model_validator(mode="after")
    def _one_file_is_of_one_benchmark(self) -> TaskEntry:
        if self.data is not None and isinstance(self.tasks, list) and len(self.tasks) > 1:
            raise ValueError("a single benchmark beside `data`")
        return self

    def names(self, name: str) -> tuple[str, ...]:
        """What the entry of this name means."""
        return (self.tasks,) if isinstance(self.tasks, str) else tuple(self.tasks or [name])

    def values(self) -> dict[str, Any]:
        """The settings that the file sets, by the names of `effective.Effective`."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        given = self.model_fields_set - {"enabled", "tasks", "description"}
        found = {k: v for k, v in found.items() if k in given and (v is not None or k == "limit")}
        if found.get("batch_size") == "auto":
            found["batch_size"] = 0
        if "metrics" in found:
            found["metrics"] = tuple(found["metrics"])
        if "timeout" in found:
            found["timeout_s"] = found.pop("timeout")
        if "data" in found:
            found["data"] = Path(found["data"])
        return found


class EvalConfig(_Strict):
    """The whole file.

    Attributes:
        benchmarks: by name, or a list of the names that run; without it, every task runs.
        tasks: by name.
    """

    benchmarks: (
        Annotated[
            Annotated[dict[StrictStr, BenchmarkEntry], Tag("object")]
            | Annotated[list[StrictStr], Tag("list")],
            Discriminator(_form),
        ]
        | None
    ) = None
    tasks: dict[StrictStr, TaskEntry] = Field(default_factory=dict)


def find(given: Path, folder: Path) -> Path:
    """The file that `--eval-config` means: a path from `folder`, or a shipped file's name.

    Raises:
        CkptbenchError: a name alone is neither.
    """
    path = folder / given
    if path.exists() or len(given.parts) > 1:
        return path
    files = map(Path, map(str, resources.files("ckptbench.configs").iterdir()))
    shipped = {file.stem: file for file in sorted(files) if file.suffix in SUFFIXES}
    if given.name in shipped:
        return shipped[given.name]
    there = [each.name for each in folder.glob("*") if each.suffix in SUFFIXES]
    raise CkptbenchError(
        f"is neither a file nor a shipped configuration{nearest(given.name, [*there, *shipped])}",
        where=f"--eval-config={given}",
        remedy=f"shipped are {', '.join(shipped)}; own files end in {', '.join(SUFFIXES)}",
    )


def read(path: Path) -> EvalPlan:
    """Read and check a configuration file.

    Raises:
        CkptbenchError: it cannot be read, or has mistakes: each with its key and, for a key
            that is not known, the nearest that is.
    """
    try:
        value, duplicates = _load(path)
    except RecursionError:  # an alias of YAML may stand inside of what it means
        what = "is nested too deep, or holds itself"
        raise CkptbenchError(what, where=str(path)) from None
    if duplicates:
        raise CkptbenchError(f"duplicate keys: {', '.join(duplicates)}", where=str(path))
    if not isinstance(value, dict):
        raise CkptbenchError(
            f"expected an object with `benchmarks` and `tasks`, got {type(value).__name__}",
            where=str(path),
        )
    try:
        return plan(EvalConfig.model_validate(value), path)
    except ValidationError as error:
        mistakes = list(dict.fromkeys(_mistakes(error)))
    count = counted(len(mistakes), "mistake")
    raise CkptbenchError("\n  ".join([f"{count}:", *mistakes]), where=str(path))


def _load(path: Path) -> tuple[Any, list[str]]:
    """The file's content, and the keys that one of its objects has twice."""
    where = str(path)
    if path.suffix not in SUFFIXES:
        raise CkptbenchError(
            f"a configuration file ends in {', '.join(SUFFIXES)}", where=f"--eval-config={where}"
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        there = [each.name for each in path.parent.glob("*") if each.suffix in SUFFIXES]
        hint = nearest(path.name, there)
        remedy = "give the path of a JSON, YAML or TOML file"
        raise CkptbenchError(f"there is no such file{hint}", where=where, remedy=remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        remedy = "give the path of a readable file in UTF-8"
        raise CkptbenchError(f"cannot be read: {error}", where=where, remedy=remedy) from None
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text), []
        except tomllib.TOMLDecodeError as error:
            raise CkptbenchError(f"not valid TOML: {error}", where=where) from None
    return _json(text, where) if path.suffix == ".json" else _yaml(text, where)


def _json(text: str, where: str) -> tuple[Any, list[str]]:
    duplicates: list[str] = []

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        duplicates.extend(_duplicates([name for name, _ in pairs]))
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=whole), duplicates
    except json.JSONDecodeError as error:
        before = text[: error.pos].rstrip()
        # Python 3.13 says so itself, and points at the comma instead of behind it.
        trailing = before.endswith(",") or "trailing comma" in error.msg
        hint = "remove the comma before it" if trailing else ""
        where = f"{where}:{error.lineno}:{error.colno}"
        raise CkptbenchError(f"not valid JSON: {error.msg}", where=where, remedy=hint) from None


def _yaml(text: str, where: str) -> tuple[Any, list[str]]:
    try:
        import yaml
    except ImportError:
        raise CkptbenchError(
            "a YAML file needs PyYAML", where=where, remedy="pip install pyyaml, or write JSON"
        ) from None

    def duplicates(node: Any) -> list[str]:
        # yaml.safe_load itself takes the last of two.
        if node is None or isinstance(node.value, str):
            return []
        pairs = [entry for entry in node.value if isinstance(entry, tuple)]
        parts = [part for pair in pairs for part in pair] or node.value
        own = _duplicates([str(key.value) for key, _ in pairs])
        return own + [name for part in parts for name in duplicates(part)]

    try:
        return yaml.safe_load(text), duplicates(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where += f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise CkptbenchError(f"not valid YAML: {problem}", where=where) from None


def _duplicates(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


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


def _mistakes(failed: ValidationError) -> Iterator[str]:
    """One line a mistake: the key, what was expected and what the file has."""
    for error in failed.errors(include_url=False):
        # The two forms of `benchmarks` have names in pydantic's paths, which no file has.
        # A key that is no Unicode text has no place.
        section, *rest = error["loc"] or ("a key",)
        if section == "benchmarks" and rest and rest[0] in ("object", "list"):
            rest = rest[1:]
        key = ".".join(map(str, (section, *rest)))
        if error["type"] == "extra_forbidden":
            entry = TaskEntry if section == "tasks" else BenchmarkEntry
            known = list((entry if rest else EvalConfig).model_fields)
            near = nearest(str((section, *rest)[-1]), known)
            yield f"{key}: unknown key{near or ', known are ' + ', '.join(known)}"
            continue
        expected = _EXPECTED.get(error["type"]) or str(error["msg"])
        expected = expected.removeprefix("Value error, ").removeprefix("Input should be ")
        shown = json.dumps(error.get("input"), ensure_ascii=False, default=str)
        shown = shown if len(shown) < 60 else f"{shown[:57]}..."
        yield f"{key}: expected {expected}, got {shown}"


def plan(config: EvalConfig, path: Path) -> EvalPlan:
    """Which entries run, in which order.

    Raises:
        CkptbenchError: two entries that run mean the same benchmark or task.
    """
    entries = config.tasks
    if config.benchmarks is None:
        listed = tuple(
            Listed(name, entry.enabled, entry.names(name), entry.description)
            for name, entry in entries.items()
        )
        running = [name for name, entry in entries.items() if entry.enabled]
        left: list[str] = []
    else:
        chosen = config.benchmarks
        named = chosen if isinstance(chosen, dict) else {name: BenchmarkEntry() for name in chosen}
        listed = tuple(
            Listed(name, entry.enabled, tuple(entry.tasks) or (name,), entry.description)
            for name, entry in named.items()
        )
        wanted = dict.fromkeys(task for each in listed if each.enabled for task in each.tasks)
        running = [name for name in wanted if name not in entries or entries[name].enabled]
        mentioned = {task for each in listed for task in each.tasks}
        left = [name for name in entries if name not in mentioned]
    settings = [_settings(name, entries.get(name)) for name in running]
    settings.sort(key=lambda each: each.priority)
    owner: dict[str, str] = {}
    for each in settings:
        for name in each.names:
            if owner.setdefault(name, each.entry) != each.entry:
                raise CkptbenchError(
                    f"{owner[name]} and {each.entry} both ask {name}", where=str(path)
                )
    # An entry with a list of tasks has a name that is no task's.
    idle = tuple(
        _settings(name, entries.get(name))
        for name in dict.fromkeys([*entries, *(task for each in listed for task in each.tasks)])
        if name not in running and name not in owner
    )
    notes = (f"{path}: no benchmark names the tasks {', '.join(left)}",) if left else ()
    return EvalPlan(str(path), tuple(settings), listed, notes, idle)


def _settings(name: str, entry: TaskEntry | None) -> TaskSettings:
    if entry is None:
        return TaskSettings(f"benchmarks.{name}", (name,))
    return TaskSettings(f"tasks.{name}", entry.names(name), entry.values())
