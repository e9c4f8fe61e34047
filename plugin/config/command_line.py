"""The options of a session: declared to pytest, read, and checked against each other.

Each is registered as `--ckpt-NAME`, with the short `--NAME` beside it unless another plugin has
that, and as the ini setting `ckpt_NAME`. The command line wins over the ini file, which wins over
the default.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from os import getpid
from typing import Any

import pytest

from .._util.errors import CkptbenchError, nearest
from .effective import OF_LM_EVAL
from .eval_config import COMMAND_LINE
from .options import DRY, OPTIONS, Option, Options, exec_limits, headings


def _read_later(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    # pytest parses the command line before it loads conftests. One of them may own the short name
    # with other values, so nothing may be refused before that.
    def read_if_possible(text: str) -> Any:
        try:
            return parse(text)
        except argparse.ArgumentTypeError as error:
            return error

    return read_if_possible


def register(parser: pytest.Parser) -> None:
    """Declare every option and its ini setting to pytest."""
    for title, options in headings().items():
        group = parser.getgroup(f"ckptbench-{title.replace(' ', '-')}", f"ckptbench: {title}")
        for option in options:
            _declare(parser, group, option)


def _declare(parser: pytest.Parser, group: Any, option: Option) -> None:
    attributes: dict[str, Any] = {"dest": option.dest, "default": None, "help": option.help_text}
    if option.parse is None:
        attributes["action"] = "store_true"
    else:
        attributes["type"] = _read_later(option.parse)
        attributes["metavar"] = option.metavar
        if option.many:
            attributes["action"] = "append"
        if option.bare:
            attributes |= {"nargs": "?", "const": option.parse(option.bare)}
    _add_with_short_name(parser, group, f"--ckpt-{option.name}", f"--{option.name}", attributes)
    kind: Any = "bool" if option.parse is None else "linelist" if option.many else "string"
    parser.addini(option.dest, option.help_text, type=kind, default=None)


def _add_with_short_name(
    parser: pytest.Parser, group: Any, long: str, short: str, attributes: dict[str, Any]
) -> None:
    """Add an option under its long name, and under the short one unless another plugin has it."""
    # A conftest or another plugin may well have its own `--seed` or `--device`, and register it
    # before or after ours. pytest has no public interface for this, so the two ways it keeps its
    # options are handled here: a list that is read when parsing starts, up to pytest 8, and an
    # argparse parser that is filled at once, from pytest 9.
    if short in _names_of(parser):
        group.addoption(long, **attributes)
        return
    group.addoption(long, short, **attributes)
    optparser = getattr(parser, "optparser", None)
    if optparser is None:
        _give_way_when_parsing(parser, group.options[-1], short)
    else:
        _give_way_at_once(parser, optparser, short)


def _names_of(parser: Any) -> set[str]:
    return {name for option in _options(parser) for name in option.names()}


def _options(parser: Any) -> list[Any]:
    return [option for group in (*parser._groups, parser._anonymous) for option in group.options]


def _give_way_when_parsing(parser: Any, option: Any, short: str) -> None:
    build = parser._getparser

    def build_without_conflict() -> Any:
        others = (other for other in _options(parser) if other is not option)
        if short in option._long_opts and any(short in other.names() for other in others):
            option._long_opts.remove(short)
        return build()

    parser._getparser = build_without_conflict


def _give_way_at_once(parser: Any, optparser: argparse.ArgumentParser, short: str) -> None:
    ours: set[str] | None = getattr(optparser, "_ckptbench_short_names", None)
    if ours is not None:
        ours.add(short)
        return
    ours = {short}
    optparser._ckptbench_short_names = ours  # type: ignore[attr-defined]

    def watch(container: Any) -> None:
        check = container._check_conflict

        def check_after_giving_way(action: argparse.Action) -> None:
            for name in ours.intersection(action.option_strings):
                ours.discard(name)
                owner = container._option_string_actions.pop(name)
                owner.option_strings.remove(name)
            check(action)

        container._check_conflict = check_after_giving_way

    for group in [*parser._groups, parser._anonymous]:
        watch(group._arggroup)
    add_group = optparser.add_argument_group

    def add_watched_group(*args: Any, **kwargs: Any) -> Any:
        container = add_group(*args, **kwargs)
        watch(container)
        return container

    optparser.add_argument_group = add_watched_group  # type: ignore[method-assign]


def hint_at_typos(parser: pytest.Parser, arguments: Sequence[str]) -> None:
    """Add to pytest's message about an unknown option the nearest one of ours."""
    ours = [name for o in OPTIONS for name in (o.name, f"ckpt-{o.name}")]
    given = {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}
    unknown = sorted(given - _names_of(parser) - {f"--{name}" for name in ours})
    hints = [(name, nearest(name.removeprefix("--"), ours)) for name in unknown]
    found = [name + hint.replace("'", "'--", 1) for name, hint in hints if hint]
    if found:
        parser.extra_info["options of ckptbench"] = ", ".join(found)


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
        found = _from_command_line(config, option)
        if found:
            sources[option.field] = COMMAND_LINE
        elif found := _from_ini(config, option):
            sources[option.field] = str(config.inipath or "ini file")
        values[option.field] = _joined(option, found) if found else option.default
    _check(values)
    _join_data(values, sources)
    if values["data_dir"] is not None:
        _use_data_dir(values, sources)
    _same(values, sources, "gpu", "device", lambda number: f"cuda:{number}")
    _same(values, sources, "max_length", "seq_len", lambda number: number)
    if values["eval_config"] is None and "tasks" not in sources:
        _refuse_idle(sources)
    if values["eval_config"] is not None:
        from . import eval_config_file as file

        values["eval_config"] = file.read(
            file.find(values["eval_config"], config.invocation_params.dir)
        )
    new_id = f"{time.strftime('%Y%m%d_%H%M%S')}_{getpid()}"
    values["run_id"] = continued or values["run_id"] or new_id
    return Options(**values, sources=sources)


def is_dry(config: pytest.Config) -> bool:
    """Whether the session only prints what it would do: `Options.is_dry` before they are read."""
    given = (o for o in OPTIONS if o.field in DRY)
    with suppress(CkptbenchError):  # `read` raises it
        return any(config.getoption(o.dest, None) or _ini_value(config, o) is True for o in given)
    return False


def _from_command_line(config: pytest.Config, option: Option) -> list[Any]:
    given = config.getoption(option.dest, None)
    found = [] if given is None else given if option.many else [given]
    for value in found:
        if isinstance(value, argparse.ArgumentTypeError):
            raise CkptbenchError(str(value), where=f"--{option.name}")
    return list(found)


def _from_ini(config: pytest.Config, option: Option) -> list[Any]:
    value = _ini_value(config, option)
    if option.parse is None:
        return [] if value is None else [value]
    values = value if isinstance(value, list) else [] if value is None else [value]
    texts = [str(each).lower() if isinstance(each, bool) else str(each) for each in values]
    if not option.many:
        texts = [",".join(texts)]
    try:
        return [option.parse(text.strip()) for text in texts if text.strip()]
    except argparse.ArgumentTypeError as error:
        raise CkptbenchError(str(error), where=_ini_place(config, option)) from None


def _ini_value(config: pytest.Config, option: Option) -> Any:
    """What the ini file says: a text or what TOML has, or a list of these; None if nothing.

    Raises:
        CkptbenchError: a switch is neither true nor false.
    """
    try:
        with warnings.catch_warnings():
            # A list where pytest expects a text, in pyproject.toml.
            warnings.simplefilter("ignore")
            return config.getini(option.dest)
    except (TypeError, ValueError, pytest.UsageError):
        # In its table [tool.pytest], pytest takes one kind of value for an option, and no other.
        written = getattr(config, "_inicfg", None) or getattr(config, "inicfg", {})
        found = written.get(option.dest)
        found = getattr(found, "value", found)
        if found is None or option.parse is None:
            what = f"expected true or false, got {found!r}"
            raise CkptbenchError(what, where=_ini_place(config, option)) from None
        return found


def _ini_place(config: pytest.Config, option: Option) -> str:
    return f"{config.inipath or 'ini file'}: {option.dest}"


def _joined(option: Option, found: Sequence[Any]) -> Any:
    """The value of an option of those that were given."""
    if option.many == "append":
        return tuple(found)
    if option.many == "extend":
        return tuple(value for part in found for value in part)
    if option.many == "merge":
        return {key: value for part in found for key, value in part.items()}
    return found[0]


def _check(values: Mapping[str, Any]) -> None:
    """Refuse options that need another one, and unknown settings."""
    if values["update_baseline"] and values["baseline"] is None:
        raise CkptbenchError(
            "--update-baseline needs the file to write", remedy="add --baseline=FILE"
        )
    if values["validate_config"] and values["eval_config"] is None:
        raise CkptbenchError(
            "there is no file to check", where="--validate-config", remedy="add --eval-config=FILE"
        )
    if values["allow_mismatch"]:
        from ..gate.identity import LIMIT_PREFIX, check_allowed

        limits = (f"{LIMIT_PREFIX}{each.exec_limit}" for each in exec_limits())
        check_allowed(values["allow_mismatch"], limits)


def _join_data(values: dict[str, Any], sources: dict[str, str]) -> None:
    """Let `--data=mbpp=FILE` and `--mbpp-data=FILE` be the same; see `_same`.

    Raises:
        CkptbenchError: both are given, from the same source, with different files.
    """
    from .data_folder import NAMES

    files = values["data"] = dict(values["data"])
    for name in NAMES:
        field = f"{name}_data"
        own, given = values[field], files.get(name)
        if own and given and own != given and sources[field] == sources["data"]:
            raise CkptbenchError(
                f"--{name}-data={own} and --data={name}={given} contradict",
                remedy="give one of them",
            )
        if given and (own is None or sources["data"] == COMMAND_LINE):
            values[field] = given
            sources.pop(field, None)
        elif own:
            files[name] = own


def _use_data_dir(values: dict[str, Any], sources: dict[str, str]) -> None:
    """Use the files in `--data-dir` for the datasets that no option gives a file for."""
    from .data_folder import NAMES, find_data

    wanted = [name for name in NAMES if values[f"{name}_data"] is None]
    alone = len(wanted) == len(NAMES)
    for name, file in find_data(values["data_dir"], wanted, any_of_them=alone).items():
        values[f"{name}_data"] = values["data"][name] = file
        sources[f"{name}_data"] = sources["data_dir"]


def _refuse_idle(sources: Mapping[str, str]) -> None:
    """Refuse options of lm-eval's tasks, which other benchmarks ignore, if no task is named."""
    # --num-fewshot is left alone: it has no effect on other benchmarks, so it changes no prompt.
    for name in OF_LM_EVAL:
        if name != "num_fewshot" and sources.get(name) == COMMAND_LINE:
            raise CkptbenchError(
                "this option is for lm-eval tasks, and none is named",
                where=f"--{name.replace('_', '-')}",
                remedy="add --tasks=NAME; other benchmarks chat by a protocol, such as "
                "--protocol=humaneval=chat",
            )


def _same(
    values: dict[str, Any], sources: dict[str, str], name: str, other: str, as_value: Any
) -> None:
    """Let one option set another, unless that one has a different value from the same source."""
    if values[name] is None:
        return
    value = as_value(values[name])
    if sources.get(other) == sources[name] and values[other] != value:
        raise CkptbenchError(
            f"--{name.replace('_', '-')}={values[name]} and --{other.replace('_', '-')}="
            f"{values[other]} contradict",
            remedy="give one of them",
        )
    values[other] = value
    sources[other] = sources[name]


def check_collected(names: Iterable[str], benchmarks: Iterable[str], option: str) -> None:
    """Refuse a benchmark that no collected module has.

    Raises:
        CkptbenchError: naming the nearest one.
    """
    known = sorted(benchmarks)
    for name in names:
        if name not in known:
            raise CkptbenchError(
                f"no benchmark named {name!r} was collected{nearest(name, known)}",
                where=option,
                remedy="benchmarks: " + ", ".join(known),
            )


def check_names(options: Options, benchmarks: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a benchmark or protocol that no collected module has.

    Args:
        benchmarks: names of the protocols of each collected benchmark.

    Raises:
        CkptbenchError: naming the nearest known one.
    """
    check_collected(options.k, benchmarks, "--k")
    check_collected(options.protocol, benchmarks, "--protocol")
    for benchmark, chosen in options.protocol.items():
        for name in chosen:
            if name not in benchmarks[benchmark]:
                raise CkptbenchError(
                    f"{benchmark} has no protocol {name!r}{nearest(name, benchmarks[benchmark])}",
                    where="--protocol",
                    remedy="protocols: " + ", ".join(benchmarks[benchmark]),
                )
