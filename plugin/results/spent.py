"""What the answers of a run cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

NOT_RECORDED = "a part of the run recorded none"


@dataclass(frozen=True, slots=True)
class Spent:
    """What answers cost, added over all sessions of a run, its workers and its parts.

    Attributes:
        seconds: time in which the engine answered, added over the workers that did.
        gpu_seconds: the same time for each GPU that the engine held; 0 on a processor, null where
            it is not known how many there were.
        tokens_read: tokens that went through the model, of a beginning that texts share and that
            is read once each token once; null where they are not known.
        tokens_written: tokens that were generated; likewise.
        unknown: why a number is null; empty where none is.
    """

    seconds: float = 0.0
    gpu_seconds: float | None = 0.0
    tokens_read: int | None = 0
    tokens_written: int | None = 0
    unknown: str = ""

    def __add__(self, other: Spent) -> Spent:
        """Both together: what is not known of one is not known of both."""
        reasons = dict.fromkeys([*self.unknown.split("; "), *other.unknown.split("; ")])
        return Spent(
            self.seconds + other.seconds,
            _sum(self.gpu_seconds, other.gpu_seconds),
            _sum(self.tokens_read, other.tokens_read),
            _sum(self.tokens_written, other.tokens_written),
            "; ".join(filter(None, reasons)),
        )


Number = TypeVar("Number", int, float)


def _sum(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other
