"""Every option, declared once: name, parser, default, help.

Each is registered as `--ckpt-NAME` with the short `--NAME` beside it, and as the ini setting
`ckpt_NAME`. The command line wins over the ini file, which wins over the default.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from os import getpid
from pathlib import Path
from typing import Any

import pytest

from .errors import CkptbenchError, nearest
from .option_values import (
    DEVICES,
    DTYPES,
    GATES,
    device,
    ks,
    limit,
    one_of,
    positive_int,
    positive_int_or_auto,
    probability,
    protocols,
    run_id,
    seed,
    share,
    temperature,
    tolerances,
)
from .short_names import add_with_short_name, names_of


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
        "num-samples",
        positive_int,
        1,
        "N",
        "answers drawn for each sample of a benchmark scored by pass@k (default 1)",
    ),
    Option("temperature", temperature, 0.0, "T", "of sampling (default 0: greedy)"),
    Option("top-p", share, 1.0, "P", "share of the probability sampled from (default 1.0)"),
    Option("max-tokens", positive_int, 512, "N", "tokens of a generated answer (default 512)"),
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
    Option("humaneval-data", Path, None, "FILE", "ask HumanEval: its file, or HumanEval+'s"),
    Option("mbpp-data", Path, None, "FILE", "ask MBPP: its file, the sanitized one, or MBPP+'s"),
    Option("codecontests-data", Path, None, "FILE", "ask CodeContests: a file of its problems"),
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
        "unsafe-exec",
        None,
        False,
        "",
        "run generated programs even where nothing protects this machine from them",
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
    num_samples: int
    temperature: float
    top_p: float
    max_tokens: int
    k: Mapping[str, tuple[int, ...]]
    protocol: Mapping[str, tuple[str, ...]]
    real_data: Path | None
    lambada_data: Path | None
    humaneval_data: Path | None
    mbpp_data: Path | None
    codecontests_data: Path | None
    device: str
    dtype: str
    batch_tokens: int | None
    unsafe_exec: bool
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


def read(config: pytest.Config, continued: str = "") -> Options:
    """The options of a session.

    Args:
        continued: the run that this process is a worker of.

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
    values["run_id"] = (
        continued or values["run_id"] or f"{time.strftime('%Y%m%d_%H%M%S')}_{getpid()}"
    )
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
