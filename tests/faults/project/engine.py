"""The model of the projects that are broken: it answers by a hash of the text.

It is their conftest.py. Every text that it is asked becomes a line of `asked.log`, in one system
call, so that what a process was asked before it was killed can be counted.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from ckptbench import Filled, FillMask, Generated

LOG = Path(__file__).parent / "asked.log"
BATCH, BATCH_S, BATCH_BYTES = 4, 0.02, 8 << 20
RIGHT, WRONG = "    return x + 1\n", ("    return x + 2\n", "    return None\n", "    y = 1\n")


class Hashed:
    """Answers a few requests at a time, as a model does."""

    fingerprint = "hashed"
    settings = MappingProxyType({"seq_len": 128})

    def answer(self, requests: Sequence[Any]) -> Iterator[tuple[int, Filled | Generated]]:
        """The answers in order."""
        for first in range(0, len(requests), BATCH):
            batch = range(first, min(first + BATCH, len(requests)))
            texts = [getattr(requests[i], "text", None) or requests[i].prompt for i in batch]
            note("".join(f"{text.strip()}\n" for text in texts))
            working_memory = bytearray(BATCH_BYTES)
            time.sleep(BATCH_S)
            for index, text in zip(batch, texts, strict=True):
                yield index, answer_to(requests[index], text)
            del working_memory


def note(lines: str) -> None:
    """Append to the log, whole even when several processes do."""
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(log, lines.encode())
    finally:
        os.close(log)


def answer_to(request: Any, text: str) -> Filled | Generated:
    """The same answer to a text whenever it is asked, and by whomever."""
    seen = hashlib.sha256(text.encode()).digest()
    if isinstance(request, FillMask):
        logprobs = -seen[1] / 64, -8 - seen[2] / 64
        return Filled(("x", "y"), logprobs, seen[0] % 7 or None, 1, logprobs[0])
    program = RIGHT if seen[0] % 2 else WRONG[seen[1] % 3]
    return Generated(program, 8, "eos")


@pytest.fixture(scope="session")
def engine() -> Hashed:
    """In the place of the suite's own: no checkpoint is loaded."""
    return Hashed()
