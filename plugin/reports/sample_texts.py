"""A sample and its response as short texts for a reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from .._util import text as words
from .._util.jsonio import JSON
from ..api.answer_kinds import answer_text

RESPONSE_CHARS = 600  # characters of a response that are shown


class Text(NamedTuple):
    """A field of a sample.

    Attributes:
        label: the field's name.
        text: its value, cut where it is too long.
        marks: parts `(start, end, label)` of `text` whose position is another field.
        cut: characters that were left out.
    """

    label: str
    text: str
    marks: tuple[tuple[int, int, str], ...]
    cut: int


def sample_texts(fields: Mapping[str, JSON], most: int) -> tuple[Text, ...]:
    """A sample's fields; those that are positions in its `text` become marks of it.

    Args:
        most: characters of one field that are shown. Of a longer text the part around the last
            mark is kept, and its beginning where it has no marks.
    """
    whole = fields.get("text")
    marks = _marks(fields, whole) if isinstance(whole, str) else ()
    pointing = {label for _, _, label in marks}
    shown = []
    for label, value in fields.items():
        if label in pointing or value is None:
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown.append(cut(label, text, marks if label == "text" else (), most))
    return tuple(shown)


def response_text(response: Mapping[str, JSON] | None) -> str:
    """The model's answer: a text, the candidates with the best first, or likelihoods."""
    text = "no answer" if response is None else answer_text(response)
    rest = len(text) - RESPONSE_CHARS
    return text if rest <= 0 else f"{text[:RESPONSE_CHARS]}… ({words.count(rest)} more characters)"


def _marks(fields: Mapping[str, JSON], text: str) -> tuple[tuple[int, int, str], ...]:
    marks: list[tuple[int, int, str]] = []
    for label, value in fields.items():
        if isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value):
            start, end = value
            apart = all(end <= other[0] or start >= other[1] for other in marks)
            if 0 <= start < end <= len(text) and apart:
                marks.append((start, end, label))
    return tuple(sorted(marks))


def cut(label: str, text: str, marks: tuple[tuple[int, int, str], ...], most: int) -> Text:
    """A field's text within `most` characters, the last mark a quarter of them from its end."""
    if len(text) <= most:
        return Text(label, text, marks, 0)
    last = marks[-1][1] if marks else 0
    start = min(max(0, last + most // 4 - most), len(text) - most)
    end = start + most
    inside = tuple((a - start, b - start, name) for a, b, name in marks if start <= a and b <= end)
    return Text(label, text[start:end], inside, len(text) - most)
