"""Parsers of options: from a text to a value, or to an error that says what was expected."""

from __future__ import annotations

import argparse
import importlib.util
import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from ..gate.verdict import Gate

GATES: tuple[str, ...] = get_args(Gate)
DEVICES = "auto, cpu, cuda or cuda:N"
DTYPES = ("auto", "fp32", "bf16", "fp16")


def _expected(what: str, text: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"expected {what}, got {text!r}")


def number(text: str, what: str, fits: Callable[[float], bool]) -> float:
    """A number that fits.

    Args:
        what: what is expected, for the error.

    Raises:
        argparse.ArgumentTypeError: it is no number, or does not fit.
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if math.isnan(found) or not fits(found):
        raise _expected(what, text)
    return found


def positive_int(text: str, what: str = "a whole number of at least 1") -> int:
    """A whole number of at least 1."""
    try:
        found = int(text)
    except ValueError:
        found = 0
    if found < 1:
        raise _expected(what, text)
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
        raise _expected("a whole number of at least 0", text)
    return int(text)


def names(text: str) -> tuple[str, ...]:
    """One name or several, separated by commas."""
    found = tuple(name.strip() for name in text.split(",") if name.strip())
    if not found:
        raise _expected("a name, or several separated by commas", text)
    return found


def text(given: str) -> str:
    """Any text but an empty one."""
    if not given.strip():
        raise _expected("a text", given)
    return given


def true_or_false(text: str) -> bool:
    """`true` or `false`, in any spelling that lm-eval accepts."""
    spellings = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in spellings:
        raise _expected("true or false", text)
    return spellings[text.lower()]


def chat_template(text: str) -> bool | str:
    """`true`, `false`, or the name of a chat template.

    A path is refused: after an option that needs no value, it is meant to be a file to run.
    """
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not text or "/" in text or "::" in text or text.endswith(".py"):
        raise argparse.ArgumentTypeError(
            f"expected the name of a chat template, got {text!r}; write "
            "--apply-chat-template=true before a path"
        )
    return text


def limit(text: str) -> int | float:
    """A number of samples (200) or a share of them (0.2)."""
    what = "a number of samples such as 200, or a share between 0 and 1 such as 0.2"
    found = number(text, what, lambda n: 0 < n < 1 or (1 <= n < math.inf and n == int(n)))
    return int(found) if found >= 1 else found


def probability(text: str) -> float:
    """A number between 0 and 1, both excluded."""
    return number(text, "a number between 0 and 1", lambda n: 0 < n < 1)


def share(text: str) -> float:
    """A number above 0 and at most 1."""
    return number(text, "a number above 0 and at most 1", lambda n: 0 < n <= 1)


def temperature(text: str) -> float:
    """A finite number of at least 0."""
    return number(text, "a number of at least 0", lambda n: 0 <= n < math.inf)


def seconds(text: str) -> float:
    """A number above 0."""
    return number(text, "a number of seconds above 0", lambda n: 0 < n < math.inf)


def exec_timeout(text: str) -> float:
    """Seconds above 0, an hour at most."""
    return number(text, "seconds above 0 and at most 3600", lambda n: 0 < n <= 3600)


EXEC_MEMORY_MB = 512
"""MiB that a generated program may use, unless the option or the dataset says otherwise."""


def exec_memory(text: str) -> int:
    """`512M` or `4G` as MiB, 16 at least."""
    try:
        size = float(text[:-1]) * {"M": 1, "G": 1024}[text[-1:].upper()]
    except (ValueError, KeyError):
        size = 0.0
    if not 16 <= size < 2**30 or size != int(size):
        raise _expected("memory such as 512M or 4G, 16M at least", text)
    return int(size)


def exec_libraries(text: str) -> tuple[str, ...]:
    """Installed packages, separated by commas, each once and in alphabetical order.

    Raises:
        argparse.ArgumentTypeError: one is not installed, or is no name of a package.
    """
    found = tuple(sorted(set(names(text))))
    for name in found:
        if not name.isidentifier():
            raise _expected("names of packages as they are imported, such as numpy,pandas", text)
        if name in sys.stdlib_module_names:
            raise argparse.ArgumentTypeError(
                f"{name!r} belongs to Python, programs may always import it: leave it out"
            )
        if importlib.util.find_spec(name) is None:
            raise argparse.ArgumentTypeError(
                f"no package {name!r} is installed: pip install it, or leave it out"
            )
    return found


def contest_tests(text: str) -> str:
    """`public`, `all`, or `sample:N`."""
    if not re.fullmatch(r"public|all|sample:0*[1-9]\d*", text):
        raise _expected("public, all, or sample:N such as sample:10", text)
    return text


def report_formats(text: str) -> tuple[str, ...]:
    """`html,md` as formats of reports, each once; which there are is known when plugins are."""
    formats = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not formats:
        raise _expected("formats such as html,md", text)
    return formats


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser for one of a few words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise _expected("one of " + ", ".join(choices), text)
        return text

    return parse


def device(text: str) -> str:
    """`auto`, `cpu`, `cuda` or `cuda:N`."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", text):
        raise _expected(DEVICES, text)
    return text


def _pairs(text: str, what: str) -> list[tuple[str, str]]:
    pairs, begun = [], ""
    for part in text.split(","):
        if "=" not in part:  # a metric's name may hold a comma: `gsm8k exact_match,strict-match`
            begun += f"{part},"
            continue
        name, _, value = f"{begun}{part}".strip().rpartition("=")
        begun = ""
        if not name or not value:
            raise _expected(what, text)
        pairs.append((name, value))
    if begun:
        raise _expected(what, text)
    return pairs


def tolerances(text: str) -> dict[str, float]:
    """`real@1=1.0,pass@1=2.0` in percentage points as fractions by metric.

    A bare number is for every metric. Of a metric that is no share the number is in its own unit.
    """
    what = "METRIC=POINTS[,...] such as real@1=1.0, or one number of percentage points for all"
    pairs = [("*", text)] if "=" not in text else _pairs(text, what)
    try:
        return {
            name: number(value, what, lambda points: 0 <= points <= 100) / 100
            for name, value in pairs
        }
    except argparse.ArgumentTypeError:
        raise _expected(what, text) from None


def percentage_points(text: str) -> float:
    """`5` in percentage points as the fraction 0.05."""
    what = "percentage points above 0 up to 100, such as 5"
    return number(text, what, lambda n: 0 < n <= 100) / 100


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
    except argparse.ArgumentTypeError:
        pass
    raise _expected("BENCH=K[,K...] such as real=1,5,10", text)


def protocols(text: str) -> dict[str, tuple[str, ...]]:
    """`real=real/origin,real/whole-word` as protocol names by benchmark."""
    benchmark, equals, names = text.partition("=")
    chosen = tuple(name.strip() for name in names.split(",") if name.strip())
    if not equals or not benchmark or not chosen:
        raise _expected("BENCH=PROTOCOL[,PROTOCOL...] such as real=real/origin", text)
    return {benchmark: tuple(n if "/" in n else f"{benchmark}/{n}" for n in chosen)}


def data_file(text: str) -> dict[str, Path]:
    """`mbpp=data/mbpp.jsonl` as the data file by benchmark."""
    benchmark, _, file = text.partition("=")
    if not benchmark or not file:
        raise _expected("BENCH=FILE such as mbpp=data/mbpp.jsonl", text)
    return {benchmark: Path(file)}


def checkpoint_spec(text: str) -> str:
    """The name of a checkpoint. An address with a login is refused: names are shown and stored."""
    if text.lower().startswith(("http://", "https://")) and re.search(r"[@?#]", text):
        raise argparse.ArgumentTypeError(
            "expected an address without a login or a query, which would be shown and stored; "
            "set OPENAI_API_KEY or give --header"
        )
    return text


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
        raise argparse.ArgumentTypeError("expected 'Name: value' (the text is not shown)")
    if not value.strip() or not value.isascii() or not value.isprintable():
        raise argparse.ArgumentTypeError(f"expected a value of plain characters for {name!r}")
    return Header(name.strip(), value.strip())


def run_id(text: str) -> str:
    """A folder name."""
    if not text or text in (".", "..") or "/" in text or "\\" in text or "\0" in text:
        raise _expected("a folder name without slashes", text)
    return text
