"""Reads `KEY=VALUE,KEY=VALUE` and JSON objects, as lm-eval's command line does."""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Collection
from typing import Any

_OPENING, _CLOSING = "[({", "])}"


def key_values(text: str, what: str, texts: Collection[str] = ()) -> dict[str, Any]:
    """The values by key.

    Commas inside of brackets and quotes separate nothing. A value is true or false, a number, a
    literal of Python such as a list of texts, or else a text; the last of two for one key counts.

    Args:
        what: what is expected, for the error.
        texts: keys whose values are texts, whatever they look like.

    Raises:
        argparse.ArgumentTypeError: it is neither, or an entry has no `=`.
    """
    stripped = text.strip()
    if stripped.startswith("{"):
        try:
            found = json.loads(stripped)
        except json.JSONDecodeError as error:
            raise argparse.ArgumentTypeError(
                f"expected {what}, got JSON that is not valid: {error}"
            ) from None
        return dict(found)
    entries = [entry.partition("=") for entry in _entries(stripped)]
    if not entries or not all(equals and key.strip() for key, equals, _ in entries):
        raise argparse.ArgumentTypeError(f"expected {what}, got {text!r}")
    named = [(key.strip(), value) for key, _, value in entries]
    return {key: value if key in texts else _value(value) for key, value in named}


def _entries(text: str) -> list[str]:
    """The parts between commas that stand outside of brackets and quotes; none that is empty."""
    parts, quote, depth = [""], "", 0
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth = max(0, depth - 1)
        elif character == "," and not depth:
            parts.append("")
            continue
        parts[-1] += character
    return [part for part in parts if part]


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.isdecimal():
        return int(text)
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
