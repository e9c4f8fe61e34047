"""Parsers of options: from a text to a value, or to an error that says what was expected."""

from __future__ import annotations

import importlib.util
import math
import re
import shlex
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from ..gate.verdict import Gate
from .shard import Shard

GATES: tuple[str, ...] = get_args(Gate)
JUNIT = ("metrics", "samples")
DEVICES = "auto, cpu, cuda or cuda:N"
DTYPES = ("auto", "fp32", "bf16", "fp16")


def expected(what: str, got: object) -> ArgumentTypeError:
    """The error for a value that cannot be used."""
    return ArgumentTypeError(f"expected {what}, got {got!r}")


def number(what: str, fits: Callable[[float], bool], *, divisor: int = 1) -> Callable[[str], float]:
    """A parser of a number that fits, divided; `what` is expected, for the error."""

    def parse(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if math.isnan(found) or not fits(found):
            raise expected(what, text)
        return found / divisor

    return parse


def matching(pattern: str, what: str) -> Callable[[str], str]:
    """A parser of a text that matches a regular expression as a whole."""

    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise expected(what, text)
        return text

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser of one of a few names."""
    return matching("|".join(map(re.escape, choices)), f"one of {', '.join(choices)}")


probability = number("a number between 0 and 1", lambda n: 0 < n < 1)
share = number("a number above 0 and at most 1", lambda n: 0 < n <= 1)
temperature = number("a number of at least 0", lambda n: 0 <= n < math.inf)
seconds = number("a number of seconds above 0", lambda n: 0 < n < math.inf)
exec_timeout = number("seconds above 0 and at most 3600", lambda n: 0 < n <= 3600)
percentage_points = number(
    "percentage points above 0 up to 100, such as 5", lambda n: 0 < n <= 100, divisor=100
)
"""`5` in percentage points as the fraction 0.05."""
text = matching(r"(?s).*\S.*", "a text")
device = matching(r"auto|cpu|cuda(:\d+)?", DEVICES)
contest_tests = matching(
    r"public|all|sample:0*[1-9]\d*", "public, all, or sample:N such as sample:10"
)


def run_id(text: str) -> str:
    """The name of a run's folder: printable, in one part, and not hidden."""
    if not text or text.startswith(".") or "/" in text or "\\" in text or not text.isprintable():
        raise expected(
            "a folder name without slashes, control characters and a dot at its beginning, such "
            "as monday-1",
            text,
        )
    return text


def positive_int(text: str, what: str = "a whole number of at least 1") -> int:
    """A whole number of at least 1."""
    try:
        found = int(text)
    except ValueError:
        found = 0
    if found < 1:
        raise expected(what, text)
    return found


def positive_int_or_auto(text: str) -> int | None:
    """A whole number of at least 1; None for `auto`."""
    return None if text == "auto" else positive_int(text, "'auto' or a whole number of at least 1")


def rows(text: str) -> int:
    """A whole number of at least 1; 0 for `auto`."""
    return positive_int_or_auto(text) or 0


def whole_number(text: str) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal():
        raise expected("a whole number of at least 0", text)
    return int(text)


def names(text: str, what: str = "a name, or several separated by commas") -> tuple[str, ...]:
    """One name or several, separated by commas."""
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise expected(what, text)
    return found


def true_or_false(text: str) -> bool:
    """`true` or `false`, in any spelling that lm-eval accepts."""
    spellings = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in spellings:
        raise expected("true or false", text)
    return spellings[text.lower()]


def chat_template(text: str) -> bool | str:
    """`true`, `false`, or the name of a chat template.

    A path is refused: after an option that needs no value, it is meant to be a file to run.
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not text or "/" in text or "::" in text or text.endswith(".py"):
        raise ArgumentTypeError(
            f"expected the name of a chat template, got {text!r}; write "
            "--apply-chat-template=true before a path"
        )
    return text


def limit(text: str) -> int | float:
    """A number of samples (200) or a share of them (0.2)."""
    what = "a number of samples such as 200, or a share between 0 and 1 such as 0.2"
    found = number(what, lambda n: 0 < n < 1 or (1 <= n < math.inf and n == int(n)))(text)
    return int(found) if found >= 1 else found


def shard(text: str) -> Shard:
    """`3/16`: the third of sixteen parts."""
    try:
        return Shard.parse(text)
    except ValueError:
        raise expected("a part of all, such as 1/4 for the first of four", text) from None


EXEC_MEMORY_MB = 512
"""MiB that a generated program may use, unless the option or the dataset says otherwise."""


def exec_memory(text: str) -> int:
    """`512M` or `4G` as MiB, 16 at least."""
    try:
        size = float(text[:-1]) * {"M": 1, "G": 1024}[text[-1:].upper()]
    except (ValueError, KeyError):
        size = 0.0
    if not 16 <= size < 2**30 or size != int(size):
        raise expected("memory such as 512M or 4G, 16M at least", text)
    return int(size)


def exec_libraries(text: str) -> tuple[str, ...]:
    """Installed packages, separated by commas, each once and in alphabetical order.

    Raises:
        ArgumentTypeError: one is not installed, or is no name of a package.
    """
    found = tuple(sorted(set(names(text))))
    for name in found:
        if not name.isidentifier():
            raise expected("names of packages as they are imported, such as numpy,pandas", text)
        if name in sys.stdlib_module_names:
            raise ArgumentTypeError(
                f"{name!r} belongs to Python, programs may always import it: leave it out"
            )
        if importlib.util.find_spec(name) is None:
            raise ArgumentTypeError(
                f"no package {name!r} is installed: pip install it, or leave it out"
            )
    return found


def report_formats(text: str) -> tuple[str, ...]:
    """`html,md` as formats of reports, each once; which there are is known when plugins are."""
    return tuple(dict.fromkeys(names(text, "formats such as html,md")))


def _pairs(text: str, what: str) -> list[tuple[str, str]]:
    pairs, begun = [], ""
    for part in text.split(","):
        if "=" not in part:  # a metric's name may hold a comma: `gsm8k exact_match,strict-match`
            begun += f"{part},"
            continue
        name, _, value = f"{begun}{part}".strip().rpartition("=")
        begun = ""
        if not name or not value:
            raise expected(what, text)
        pairs.append((name, value))
    if begun:
        raise expected(what, text)
    return pairs


def tolerances(text: str) -> dict[str, float]:
    """`real@1=1.0,pass@1=2.0` in percentage points as fractions by metric.

    A bare number is for every metric. Of a metric that is no share the number is in its own unit.
    """
    what = "METRIC=POINTS[,...] such as real@1=1.0, or one number of percentage points for all"
    pairs = [("*", text)] if "=" not in text else _pairs(text, what)
    try:
        return {name: percentage(what)(value) for name, value in pairs}
    except ArgumentTypeError:
        raise expected(what, text) from None


def settings_names(text: str) -> tuple[str, ...]:
    """`temperature,max-tokens` as names of settings."""
    return tuple(name.replace("-", "_") for name in names(text))


def k_values(text: str) -> tuple[int, ...]:
    """`1,5,10` as values of k, each once and in order."""
    return tuple(sorted({positive_int(each) for each in text.split(",")}))


def ks(text: str) -> dict[str, tuple[int, ...]]:
    """`real=1,5,10` as the values of k by benchmark."""
    benchmark, equals, numbers = text.partition("=")
    try:
        if equals and benchmark:
            return {benchmark: k_values(numbers)}
    except ArgumentTypeError:
        pass
    raise expected("BENCH=K[,K...] such as real=1,5,10", text)


def protocols(text: str) -> dict[str, tuple[str, ...]]:
    """`real=real/origin,real/whole-word` as protocol names by benchmark."""
    benchmark, equals, names = text.partition("=")
    chosen = tuple(name.strip() for name in names.split(",") if name.strip())
    if not equals or not benchmark or not chosen:
        raise expected("BENCH=PROTOCOL[,PROTOCOL...] such as real=real/origin", text)
    return {benchmark: tuple(n if "/" in n else f"{benchmark}/{n}" for n in chosen)}


def data_file(text: str) -> dict[str, Path]:
    """`mbpp=data/mbpp.jsonl` as the data file by benchmark."""
    benchmark, _, file = text.partition("=")
    if not benchmark or not file:
        raise expected("BENCH=FILE such as mbpp=data/mbpp.jsonl", text)
    return {benchmark: Path(file)}


def checkpoint_spec(text: str) -> str:
    """The name of a checkpoint. An address with a login is refused: names are shown and stored."""
    if text.lower().startswith(("http://", "https://")) and re.search(r"[@?#]", text):
        raise ArgumentTypeError(
            "expected an address without a login or a query, which would be shown and stored; "
            "set OPENAI_API_KEY or give --header"
        )
    return text


SERVERS = {
    "vllm": "vllm serve {checkpoint} --host 127.0.0.1 --port {port}",
    "llama-server": "llama-server --model {checkpoint} --host 127.0.0.1 --port {port}",
    "transformers": "transformers serve {checkpoint} --host 127.0.0.1 --port {port}",
}
"""Commands of servers that are known by name."""


def serve(text: str) -> str:
    """A command that serves `{checkpoint}` at `{port}`, or the name of one that is known."""
    command = SERVERS.get(text, text)
    try:
        shlex.split(command)
    except ValueError as error:
        raise ArgumentTypeError(f"expected a command, got {text!r}: {error}") from None
    for name in ("{checkpoint}", "{port}"):
        if name not in command:
            raise ArgumentTypeError(
                f"expected a command with {name}, such as {SERVERS['vllm']!r}, got {text!r}"
            )
    return command


@dataclass(frozen=True, slots=True)
class Header:
    """A header for a server. Its value is a secret, and is not shown with it."""

    name: str
    value: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.name}: ***"


def header(text: str) -> Header:
    """`Name: value`."""
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name.strip()):
        raise ArgumentTypeError("expected 'Name: value' (the text is not shown)")
    if not value.strip() or not value.isascii() or not value.isprintable():
        raise ArgumentTypeError(f"expected a value of plain characters for {name!r}")
    return Header(name.strip(), value.strip())


def percentage(what: str) -> Callable[[str], float]:
    """A parser of a number from 0 to 100 as a fraction."""
    return number(what, lambda n: 0 <= n <= 100, divisor=100)
