"""A session's options: registered with pytest, read, and checked against each other.

Each is registered as `--ckpt-NAME` with the short `--NAME` beside it, and as the ini setting
`ckpt_NAME`. The command line wins over the ini file, which wins over the default.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import getpid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .._util.errors import CkptbenchError, nearest
from .option import Option
from .option_list import OPTIONS
from .sections import SECTIONS
from .short_names import add_with_short_name, names_of

if TYPE_CHECKING:
    from .eval_config import EvalPlan
    from .parsers import Header

# Where a value was given that beats every file.
COMMAND_LINE = "command line"


@dataclass(frozen=True)
class Options:
    """The values of all options of a session; a field is `None` where nothing was decided.

    Attributes:
        sources: where each value that is no default was given: `command line`, or the ini file.
    """

    checkpoint: tuple[str, ...]
    checkpoint_pattern: str
    from_step: int | None
    steps_per_epoch: int | None
    model: str
    header: tuple[Header, ...]
    tokenizer: Path | None
    concurrency: int
    retries: int
    request_timeout: float
    baseline: Path | None
    update_baseline: bool
    gate: str
    tolerance: Mapping[str, float]
    alpha: float
    must_see: float
    gate_on: tuple[str, ...]
    allow_mismatch: tuple[str, ...]
    seq_len: int | None
    limit: int | float | None
    seed: int
    num_samples: int
    temperature: float
    top_p: float
    max_tokens: int
    k: Mapping[str, tuple[int, ...]]
    protocol: Mapping[str, tuple[str, ...]]
    data_dir: Path | None
    real_data: Path | None
    lambada_data: Path | None
    humaneval_data: Path | None
    mbpp_data: Path | None
    codecontests_data: Path | None
    codecontests_tests: str
    tasks: tuple[str, ...]
    include_path: tuple[Path, ...]
    num_fewshot: int | None
    apply_chat_template: bool | str
    system_instruction: str
    fewshot_as_multiturn: bool | None
    gen_kwargs: str
    model_args: Mapping[str, str]
    device: str
    dtype: str
    gpu: int | None
    max_length: int | None
    batch_size: int | None
    batch_tokens: int | None
    exec_timeout: float
    exec_memory: int | None
    exec_libraries: tuple[str, ...]
    unsafe_exec: bool
    eval_config: EvalPlan | None
    list_benchmarks: bool
    validate_config: bool
    dry_run: bool
    run_id: str
    results_dir: Path
    report: tuple[str, ...]
    mlflow: str
    no_resume: bool
    noise_floor: int | None
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def not_in_data_dir(self) -> tuple[str, ...]:
        """The benchmarks that `--data-dir` holds no data of, and no option either."""
        if self.data_dir is None:
            return ()
        from .data_folder import NAMES

        return tuple(name for name in NAMES if getattr(self, f"{name}_data") is None)

    @property
    def is_dry(self) -> bool:
        """Whether the session only says what it would do."""
        return self.list_benchmarks or self.validate_config or self.dry_run


@dataclass(frozen=True, slots=True)
class _Unread:
    """What was given on the command line and could not be read."""

    why: str


def _read_later(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    # pytest reads the command line before it knows the conftests. One of them may own the short
    # name and another opinion of its value, so nothing may be refused before they are loaded.
    def read_if_possible(text: str) -> Any:
        try:
            return parse(text)
        except argparse.ArgumentTypeError as error:
            return _Unread(str(error))

    return read_if_possible


def register(parser: pytest.Parser) -> None:
    """Declare every option and its ini setting to pytest."""
    by_name = {option.name: option for option in OPTIONS}
    for title, names in SECTIONS.items():
        group = parser.getgroup(f"ckptbench-{title.replace(' ', '-')}", f"ckptbench: {title}")
        for name in names:
            _declare(parser, group, by_name[name])


def _declare(parser: pytest.Parser, group: Any, option: Option) -> None:
    attributes: dict[str, Any] = {"dest": option.dest, "default": None, "help": option.help}
    if option.parse is None:
        attributes["action"] = "store_true"
    else:
        attributes["type"] = _read_later(option.parse)
        attributes["metavar"] = option.metavar
        if option.many:
            attributes["action"] = "append"
        if option.bare:
            attributes |= {"nargs": "?", "const": option.parse(option.bare)}
    add_with_short_name(parser, group, f"--ckpt-{option.name}", f"--{option.name}", attributes)
    parser.addini(option.dest, option.help.replace("%%", "%"), type="string", default=None)


def hint_at_typos(parser: pytest.Parser, arguments: Sequence[str]) -> None:
    """Let pytest's message about an unknown option name ours that is spelled nearly so."""
    ours = [name for o in OPTIONS for name in (o.name, f"ckpt-{o.name}")]
    words = {word.partition("=")[0] for word in arguments if word.startswith("--")}
    unknown = sorted(words - names_of(parser) - {f"--{name}" for name in ours})
    hints = {word: nearest(word.removeprefix("--"), ours) for word in unknown}
    told = [word + hint.replace("'", "'--", 1) for word, hint in hints.items() if hint]
    if told:
        parser.extra_info["options of ckptbench"] = ", ".join(told)


def _from_ini(config: pytest.Config, option: Option) -> list[Any]:
    text = config.getini(option.dest)
    if not text:
        return []
    where = f"{config.inipath or 'ini file'}: {option.dest}"
    if option.parse is None:
        if text.lower() not in ("true", "false"):
            raise CkptbenchError(f"expected true or false, got {text!r}", where=where)
        return [text.lower() == "true"]
    lines = text.splitlines() if option.many else [text]
    try:
        return [option.parse(line.strip()) for line in lines if line.strip()]
    except argparse.ArgumentTypeError as error:
        raise CkptbenchError(str(error), where=where) from None


def read(config: pytest.Config, continued: str = "") -> Options:
    """The options of a session.

    Args:
        continued: the run that this process is a worker of.

    Raises:
        CkptbenchError: an option has a value that cannot be read, or options contradict.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for option in OPTIONS:
        given = config.getoption(option.dest, None)
        found = [] if given is None else given if option.many else [given]
        for value in found:
            if isinstance(value, _Unread):
                raise CkptbenchError(value.why, where=f"--{option.name}")
        if found:
            sources[option.field] = COMMAND_LINE
        elif found := _from_ini(config, option):
            sources[option.field] = str(config.inipath or "ini file")
        if option.many == "append":
            values[option.field] = tuple(found) or option.default
        elif option.many == "extend":
            values[option.field] = tuple(v for part in found for v in part) or option.default
        elif option.many == "merge":
            values[option.field] = {**option.default, **{k: v for m in found for k, v in m.items()}}
        else:
            values[option.field] = found[0] if found else option.default
    if values["update_baseline"] and values["baseline"] is None:
        raise CkptbenchError(
            "--update-baseline needs the file to write", remedy="add --baseline=FILE"
        )
    if values["allow_mismatch"]:
        from ..gate.identity import check_allowed

        check_allowed(values["allow_mismatch"])
    if values["data_dir"] is not None:
        _take_data(values, sources)
    _same(values, sources, "gpu", "device", lambda number: f"cuda:{number}")
    _same(values, sources, "max_length", "seq_len", lambda number: number)
    if values["eval_config"] is None and sources.get("tasks") is None:
        _refuse_idle(sources)
    if values["eval_config"] is not None:
        from .eval_config_file import read as read_plan

        values["eval_config"] = read_plan(config.invocation_params.dir / values["eval_config"])
    elif values["validate_config"]:
        raise CkptbenchError(
            "there is no file to check", where="--validate-config", remedy="add --eval-config=FILE"
        )
    values["run_id"] = (
        continued or values["run_id"] or f"{time.strftime('%Y%m%d_%H%M%S')}_{getpid()}"
    )
    return Options(**values, sources=sources)


def _take_data(values: dict[str, Any], sources: dict[str, str]) -> None:
    """Let `--data-dir` stand for the files in it, where no file is given."""
    from .data_folder import NAMES, find_data

    wanted = [name for name in NAMES if values[f"{name}_data"] is None]
    alone = len(wanted) == len(NAMES)
    for name, file in find_data(values["data_dir"], wanted, any_of_them=alone).files.items():
        values[f"{name}_data"] = file
        sources[f"{name}_data"] = sources["data_dir"]


# What changes prompts or answers, and only those of lm-eval's tasks.
_OF_TASKS = ("apply_chat_template", "system_instruction", "fewshot_as_multiturn", "gen_kwargs")


def _refuse_idle(sources: Mapping[str, str]) -> None:
    """Refuse options of lm-eval's tasks on a command line that names none.

    Raises:
        CkptbenchError: the other benchmarks would be asked as if they were not there.
    """
    for name in _OF_TASKS:
        if sources.get(name) == COMMAND_LINE:
            raise CkptbenchError(
                "it is for tasks of lm-eval, and none is named",
                where=f"--{name.replace('_', '-')}",
                remedy="add --tasks=NAME; other benchmarks chat by a protocol, such as "
                "--protocol=humaneval=chat",
            )


def _same(
    values: dict[str, Any], sources: dict[str, str], name: str, means: str, as_value: Any
) -> None:
    """Let one option mean another, unless that one says something else."""
    if values[name] is None:
        return
    value = as_value(values[name])
    if sources.get(means) == sources[name] and values[means] != value:
        raise CkptbenchError(
            f"--{name.replace('_', '-')}={values[name]} and --{means.replace('_', '-')}="
            f"{values[means]} contradict",
            remedy="give one of them",
        )
    values[means] = value
    sources[means] = sources[name]


def check_names(options: Options, benchmarks: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a benchmark or protocol that no collected module has.

    Args:
        benchmarks: names of the protocols of each collected benchmark.

    Raises:
        CkptbenchError: naming the nearest known one.
    """
    for given, option in ((options.k, "--k"), (options.protocol, "--protocol")):
        for name in given:
            if name not in benchmarks:
                raise CkptbenchError(
                    f"no benchmark named {name!r} was collected{nearest(name, benchmarks)}",
                    where=option,
                    remedy="benchmarks: " + ", ".join(sorted(benchmarks)),
                )
    for benchmark, chosen in options.protocol.items():
        for name in chosen:
            if name not in benchmarks[benchmark]:
                raise CkptbenchError(
                    f"{benchmark} has no protocol {name!r}{nearest(name, benchmarks[benchmark])}",
                    where="--protocol",
                    remedy="protocols: " + ", ".join(benchmarks[benchmark]),
                )


assert {o.field for o in OPTIONS} | {"sources"} == {known.name for known in fields(Options)}
