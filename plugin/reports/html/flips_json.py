"""The flipped samples as the JSON that the page's script lists, up to a fixed size.

A sample's text is stored once, however many checkpoints flipped it. The JSON is:

    {"groups": [[checkpoint, benchmark, protocol, metric, reference, lost, won, shown,
                 whose answer the reference's is], ...],
     "samples": [[id, [[label, text, marks, cut], ...]], ...],
     "rows": [[group, lost 0 / won 1, sample, node id, response, reference's response], ...]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from ..._util.jsonio import JSON
from ..._util.language import stored
from ..flips import FlipGroup
from ..sample_texts import cut, flip_texts, said_text

ROWS = 20_000  # flips with their texts in one page
ROW_BYTES = 5_000_000  # of node ids and responses
TEXT_BYTES = 7_500_000  # of sample texts
FIELD_CHARS = (1_500, 1_000, 700, 400, 200, 100)  # characters of a field: the first that fits


@dataclass(frozen=True, slots=True)
class Embedded:
    """The flips in the page.

    Attributes:
        data: the JSON value above.
        flips: how many samples flipped, over all groups.
        shown: how many of them are in `data`.
        field_chars: characters of a field that are shown at most.
        missing: why texts could not be read, each reason once.
        notes: where the baseline's answers are read from, or why they are not at hand.
    """

    data: JSON
    flips: int
    shown: int
    field_chars: int
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def embedded_flips(groups: Iterable[FlipGroup]) -> Embedded:
    """The flips of every group, cut to the size limits of a page.

    Texts are shortened until they fit in `TEXT_BYTES`; where the rows take more than `ROW_BYTES`,
    each group loses the same share of its own.
    """
    heads: list[list[JSON]] = []
    rows_of: list[list[list[JSON]]] = []
    indices: dict[str, int] = {}  # of samples, by hash
    samples: list[list[JSON]] = []
    missing: dict[str, None] = {}
    notes: dict[str, None] = {}
    for number, group in enumerate(groups):
        missing |= {group.missing: None} if group.missing else {}
        notes |= {group.note: None} if group.note else {}
        about = (group.checkpoint, group.benchmark, group.protocol, group.metric, group.reference)
        heads.append([*about, group.regressions, group.improvements, stored(group.model)])
        rows_of.append([])
        for flip in group.samples:
            sample = indices.setdefault(flip.row.hash, len(samples))
            if sample == len(samples):
                texts = flip_texts(flip.row.fields, FIELD_CHARS[0])
                samples.append([flip.row.id, [list(text) for text in texts]])
            then = said_text(flip.reference) if flip.reference else None
            answers = [said_text(flip.row), then]
            change = int(flip.change == "won")
            rows_of[-1].append([number, change, sample, flip.row.nodeid, *answers])
    kept = _within(rows_of)
    samples, chars = _shortened(samples)
    heads = [[*head[:7], len(rows), head[7]] for head, rows in zip(heads, kept, strict=True)]
    shown = [row for rows in kept for row in rows]
    flips = sum(head[5] + head[6] for head in heads)
    data = {"groups": heads, "samples": samples, "rows": shown}
    return Embedded(data, flips, len(shown), chars, tuple(missing), tuple(notes))


def script_json(value: JSON) -> str:
    """JSON for a `<script>` element, which nothing in it can end.

    `<`, `>` and `&` are escaped, so that it has no `</script>` or `<!--`, and so are the line
    separators that older JavaScript does not allow in a string.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


# Half a surrogate pair has no UTF-8 form, but an escape.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"} | {
    code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)
}


def _size(value: JSON) -> int:
    """About how many bytes a value takes in the page."""
    text = json.dumps(value, ensure_ascii=False)
    escapes = sum(text.count(character) for character in "<>&")
    return len(text.encode(errors="replace")) + 5 * escapes


def _within(rows_of: list[list[list[JSON]]]) -> list[list[list[JSON]]]:
    """The rows of each group, or the share of them that fits; lost and won in proportion."""
    size = _size(rows_of)
    if size <= ROW_BYTES:
        return rows_of
    share = ROW_BYTES / size
    return [
        [row for n, row in enumerate(rows) if int((n + 1) * share) > int(n * share)]
        for rows in rows_of
    ]


def _shortened(samples: list[list[JSON]]) -> tuple[list[list[JSON]], int]:
    for chars in FIELD_CHARS:
        shorter = [[name, [_shorter(text, chars) for text in texts]] for name, texts in samples]
        if chars == FIELD_CHARS[-1] or _size(shorter) <= TEXT_BYTES:
            break
    return shorter, chars


def _shorter(text: list[JSON], chars: int) -> list[JSON]:
    label, whole, marks, gone = text
    shown = cut(label, whole, tuple(map(tuple, marks)), chars)
    return [shown.label, shown.text, [list(mark) for mark in shown.marks], shown.cut + gone]
