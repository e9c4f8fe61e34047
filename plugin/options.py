"""Every option, declared once: name, parser with a useful error, default, help.

Each is registered as `--ckpt-NAME` with the short `--NAME` beside it, and as the ini setting
`ckpt_NAME`. The command line wins over the ini file, which wins over the default.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from os import getpid
from pathlib import Path
from typing import Any

import pytest

from .errors import CkptbenchError, nearest
from .short_names import add_with_short_name, names_of

GATES = ("regress", "strict", "off")
DEVICES = "auto, cpu, cuda or cuda:N"
DTYPES = ("auto", "fp32", "bf16", "fp16")


def _expected(what: str, text: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"expected {what}, got {text!r}")


def positive_int(text: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        raise _expected("a whole number of at least 1", text) from None
    if number < 1:
        raise _expected("a whole number of at least 1", text)
    return number


def positive_int_or_auto(text: str) -> int | None:
    """A whole number of at least 1; None for `auto`."""
    if text == "auto":
        return None
    try:
        return positive_int(text)
    except argparse.ArgumentTypeError:
        raise _expected("'auto' or a whole number of at least 1", text) from None


def seed(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal():
        raise _expected("a whole number of at least 0", text)
    return int(text)


def limit(text: str) -> int | float:
    """A number of samples (200) or a share of them (0.2)."""
    what = "a number of samples such as 200, or a share between 0 and 1 such as 0.2"
    try:
        number = float(text)
    except ValueError:
        raise _expected(what, text) from None
    if not number > 0 or not math.isfinite(number):
        raise _expected(what, text)
    if number >= 1:
        if number != int(number):
            raise _expected(what, text)
        return int(number)
    return number


def probability(text: str) -> float:
    """A number between 0 and 1, both excluded."""
    try:
        number = float(text)
    except ValueError:
        raise _expected("a number between 0 and 1", text) from None
    if not 0 < number < 1:
        raise _expected("a number between 0 and 1", text)
    return number


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser for one of a few words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise _expected("one of " + ", ".join(choices), text)
        return text

    return parse


def device(text: str) -> str:
    """`auto`, `cpu`, `cuda` or `cuda:N`."""
    head, colon, number = text.partition(":")
    if head not in ("auto", "cpu", "cuda") or (
        colon and (head != "cuda" or not number.isdecimal())
    ):
        raise _expected(DEVICES, text)
    return text


def _pairs(text: str, what: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(","):
        name, equals, value = part.strip().rpartition("=")
        if not equals or not name or not value:
            raise _expected(what, text)
        pairs.append((name, value))
    return pairs


def tolerances(text: str) -> dict[str, float]:
    """`real@1=1.0,pass@1=2.0` in %p as fractions by metric; a bare number is for every metric."""
    what = "METRIC=POINTS[,...] in %p such as real@1=1.0, or one number for every metric"
    try:
        pairs = [("*", text)] if "=" not in text else _pairs(text, what)
        allowed = {name: float(value) / 100 for name, value in pairs}
    except ValueError:
        raise _expected(what, text) from None
    if any(not 0 <= value <= 1 for value in allowed.values()):
        raise _expected(what, text)
    return allowed


def ks(text: str) -> dict[str, tuple[int, ...]]:
    """`real=1,5,10` as the values of k by benchmark."""
    benchmark, equals, numbers = text.partition("=")
    what = "BENCH=K[,K...] such as real=1,5,10"
    if not equals or not benchmark:
        raise _expected(what, text)
    try:
        values = sorted({positive_int(number.strip()) for number in numbers.split(",")})
    except argparse.ArgumentTypeError:
        raise _expected(what, text) from None
    return {benchmark: tuple(values)}


def protocols(text: str) -> dict[str, tuple[str, ...]]:
    """`real=real/origin,real/whole-word` as protocol names by benchmark."""
    benchmark, equals, names = text.partition("=")
    chosen = tuple(name.strip() for name in names.split(",") if name.strip())
    if not equals or not benchmark or not chosen:
        raise _expected("BENCH=PROTOCOL[,PROTOCOL...] such as real=real/origin", text)
    return {benchmark: tuple(n if "/" in n else f"{benchmark}/{n}" for n in chosen)}


def run_id(text: str) -> str:
    """A folder name."""
    if not text or text in (".", "..") or "/" in text or "\\" in text or "\0" in text:
        raise _expected("a folder name without slashes", text)
    return text


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: `seq-len` for `--seq-len`, `--ckpt-seq-len` and the ini setting `ckpt_seq_len`.
        parse: makes the value from the text, or raises `argparse.ArgumentTypeError`; None for a
            switch without a value.
        default: the value when nothing was given.
        many: `append` collects values in a tuple, `merge` merges mappings.
    """

    name: str
    parse: Callable[[str], Any] | None
    default: Any
    metavar: str
    help: str
    many: str = ""

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        return f"ckpt_{self.field}"


OPTIONS: tuple[Option, ...] = (
    Option(
        "checkpoint",
        str,
        (),
        "SPEC",
        "checkpoint to measure: a Hugging Face folder, or demo-mlm",
        "append",
    ),
    Option(
        "baseline",
        Path,
        None,
        "FILE",
        "compare with this file: a baseline, bare numbers, lm-eval results, or a run's folder",
    ),
    Option(
        "update-baseline",
        None,
        False,
        "",
        "write the scores of this run to the --baseline file, if the run is complete",
    ),
    Option(
        "gate",
        one_of(*GATES),
        "regress",
        "|".join(GATES),
        "what fails the session: a significant regression (regress), an inconclusive drop too "
        "(strict), or no score at all (off); errors always do",
    ),
    Option(
        "tolerance",
        tolerances,
        {},
        "METRIC=POINTS[,...]",
        "drop allowed in %%p, for every metric or by metric (default 1.0)",
        "merge",
    ),
    Option("alpha", probability, 0.05, "P", "significance level of the gate (default 0.05)"),
    Option(
        "seq-len",
        positive_int_or_auto,
        None,
        "N|auto",
        "sequence length in tokens (default auto: what the checkpoint says of itself)",
    ),
    Option("limit", limit, None, "N|SHARE", "ask only the first N samples, or this share of them"),
    Option("seed", seed, 0, "N", "seed of everything that is drawn (default 0)"),
    Option(
        "k",
        ks,
        {},
        "BENCH=K[,K...]",
        "values of k of a benchmark's scores, such as real=1,5,10",
        "merge",
    ),
    Option(
        "protocol",
        protocols,
        {},
        "BENCH=NAME[,NAME...]",
        "protocols to ask a benchmark by; the first one's scores are gated",
        "merge",
    ),
    Option("real-data", Path, None, "FILE", "sample file of Real@K (default: the one shipped)"),
    Option("lambada-data", Path, None, "FILE", "rows of LAMBADA@1 (default: those shipped)"),
    Option("device", device, "auto", "DEVICE", f"{DEVICES} (default auto)"),
    Option(
        "dtype",
        one_of(*DTYPES),
        "auto",
        "|".join(DTYPES),
        "number format of the weights (default auto: bf16 on CUDA, fp32 on CPU)",
    ),
    Option(
        "batch-tokens",
        positive_int_or_auto,
        None,
        "N|auto",
        "tokens in one batch, padding included (default auto)",
    ),
    Option(
        "run-id",
        run_id,
        "",
        "ID",
        "name of the run; a run given again continues (default: date, time and process)",
    ),
    Option(
        "results-dir",
        Path,
        Path("results"),
        "DIR",
        "where runs leave their folders (default results)",
    ),
    Option(
        "no-resume",
        None,
        False,
        "",
        "ask everything again instead of reusing answers of earlier runs",
    ),
)


@dataclass(frozen=True)
class Options:
    """The values of all options of a session; a field is `None` where nothing was decided."""

    checkpoint: tuple[str, ...]
    baseline: Path | None
    update_baseline: bool
    gate: str
    tolerance: Mapping[str, float]
    alpha: float
    seq_len: int | None
    limit: int | float | None
    seed: int
    k: Mapping[str, tuple[int, ...]]
    protocol: Mapping[str, tuple[str, ...]]
    real_data: Path | None
    lambada_data: Path | None
    device: str
    dtype: str
    batch_tokens: int | None
    run_id: str
    results_dir: Path
    no_resume: bool


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
    group = parser.getgroup("ckptbench", "benchmarks of language-model checkpoints")
    for option in OPTIONS:
        attributes: dict[str, Any] = {"dest": option.dest, "default": None, "help": option.help}
        if option.parse is None:
            attributes["action"] = "store_true"
        else:
            attributes["type"] = _read_later(option.parse)
            attributes["metavar"] = option.metavar
            if option.many:
                attributes["action"] = "append"
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


def read(config: pytest.Config, run_id: str = "") -> Options:
    """The options of a session.

    Args:
        run_id: the run that this process is a worker of.

    Raises:
        CkptbenchError: an option has a value that cannot be read, or options contradict.
    """
    values: dict[str, Any] = {}
    for option in OPTIONS:
        given = config.getoption(option.dest, None)
        found = [] if given is None else given if option.many else [given]
        for value in found:
            if isinstance(value, _Unread):
                raise CkptbenchError(value.why, where=f"--{option.name}")
        found = found or _from_ini(config, option)
        if option.many == "append":
            values[option.field] = tuple(found) or option.default
        elif option.many == "merge":
            values[option.field] = {**option.default, **{k: v for m in found for k, v in m.items()}}
        else:
            values[option.field] = found[0] if found else option.default
    if values["update_baseline"] and values["baseline"] is None:
        raise CkptbenchError(
            "--update-baseline needs the file to write", remedy="add --baseline=FILE"
        )
    values["run_id"] = run_id or values["run_id"] or f"{time.strftime('%Y%m%d_%H%M%S')}_{getpid()}"
    return Options(**values)


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
    for benchmark, names in options.protocol.items():
        for name in names:
            if name not in benchmarks[benchmark]:
                raise CkptbenchError(
                    f"{benchmark} has no protocol {name!r}{nearest(name, benchmarks[benchmark])}",
                    where="--protocol",
                    remedy="protocols: " + ", ".join(benchmarks[benchmark]),
                )


assert {option.field for option in OPTIONS} == {field.name for field in fields(Options)}
