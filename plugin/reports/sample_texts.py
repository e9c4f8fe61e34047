"""A sample and its response as short texts for a reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from .._util import text as words
from .._util.jsonio import JSON
from .._util.markdown import shortened
from ..api.answer_kinds import answer_text
from ..readers.result import SampleRow

RESPONSE_CHARS = 600  # characters of a response that are shown
BLANK = "[MASK]"
# Fields of samples and of lm-eval's documents that hold the question and the right answer.
_QUESTIONS = ("prompt", "question", "query", "text", "description", "problem", "ctx", "sentence")
_ANSWERS = ("answer", "target", "canonical_solution", "code", "solution")


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


def flip_texts(fields: Mapping[str, JSON], most: int) -> tuple[Text, ...]:
    """A sample's `question`, the right answer as `expected`, then its other fields.

    The last mark of the question is the place that the model fills.

    Args:
        most: characters of one text that are shown; see `sample_texts`.
    """
    name, text = _question(fields)
    marks = _marks(fields, text) if name == "text" else ()
    if name == "text" and not marks and (place := text.find("_")) >= 0:
        marks = ((place, place + 1, "blank"),)
    answer, expected = _expected(fields)
    used = {name, answer, *(label for _, _, label in marks)}
    others = {label: value for label, value in fields.items() if label not in used}
    return (
        cut("question", text, marks, most),
        *([cut("expected", expected, (), most)] if expected else ()),
        *sample_texts(others, most),
    )


def response_text(response: Mapping[str, JSON] | None) -> str:
    """The model's answer: a text, the candidates with the best first, or likelihoods."""
    text = "no answer" if response is None else answer_text(response)
    rest = len(text) - RESPONSE_CHARS
    return text if rest <= 0 else f"{text[:RESPONSE_CHARS]}… ({words.count(rest)} more characters)"


def said_text(row: SampleRow) -> str:
    """What a model said, and how its program failed."""
    said = response_text(row.response) or "nothing"
    return f"{said} ({row.reason})" if row.reason else said


def question_text(fields: Mapping[str, JSON], most: int) -> str:
    """What a sample asks, on one line: the text around its blank, or the beginning of a prompt.

    Args:
        most: characters that are shown.
    """
    name, text = _question(fields)
    marks = _marks(fields, text) if name == "text" else ()
    if marks:
        start, end, _ = marks[-1]
        text = text[:start] + BLANK + text[end:]
    elif name != "text" or "_" not in text:
        return one_line(text, most)
    text = " ".join(text.split())
    place = text.find(BLANK if marks else "_")
    shown = cut("", text, ((place, place + len(BLANK), ""),), most)
    at_start, at_end = text.startswith(shown.text), text.endswith(shown.text)
    return one_line(f"{'' if at_start else '…'}{shown.text}{'' if at_end else '…'}", most + 2)


def expected_text(fields: Mapping[str, JSON]) -> str:
    """The right answer that a sample states; empty where it states none."""
    return _expected(fields)[1]


def _question(fields: Mapping[str, JSON]) -> tuple[str, str]:
    """The field that asks, and its text; no name where it is only the longest text."""
    doc = fields.get("doc", fields)
    asked = doc if isinstance(doc, dict) else fields
    texts = {name: value for name, value in asked.items() if isinstance(value, str) and value}
    name = next((name for name in _QUESTIONS if name in texts), "")
    whole = json.dumps(doc, ensure_ascii=False)
    return name, texts[name] if name else max(texts.values(), key=len, default=whole)


def _expected(fields: Mapping[str, JSON]) -> tuple[str, str]:
    """The field with the right answer, and its text; both empty where there is none."""
    name = next((name for name in _ANSWERS if fields.get(name) not in (None, "")), "")
    found = fields[name] if name else ""
    return name, found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def one_line(text: str, most: int) -> str:
    """A foreign text as one line for a terminal: shortened, without control characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in shortened(text, most))


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
