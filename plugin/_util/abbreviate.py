"""Whom a note is about, in few words: twenty checkpoints would say one thing twenty times."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED = 3


def subjects(names: Sequence[str], of: int) -> str:
    """`checkpoint-100, checkpoint-200`; `all 20 checkpoints`; the first two and how many others.

    Args:
        of: checkpoints of the session.
    """
    if len(names) <= _NAMED:
        return ", ".join(names)
    if len(names) == of:
        return f"all {of} checkpoints"
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} other checkpoints"
