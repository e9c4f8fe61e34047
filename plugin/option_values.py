"""Reads the values of options: each parser makes a value of a text, or says what it expected."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

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


def share(text: str) -> float:
    """A number above 0 and at most 1."""
    try:
        number = float(text)
    except ValueError:
        raise _expected("a number above 0 and at most 1", text) from None
    if not 0 < number <= 1:
        raise _expected("a number above 0 and at most 1", text)
    return number


def temperature(text: str) -> float:
    """A finite number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        raise _expected("a number of at least 0", text) from None
    if not 0 <= number < math.inf:
        raise _expected("a number of at least 0", text)
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
