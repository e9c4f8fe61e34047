"""One of several parts of a run's samples, each measured by a session of its own."""

from __future__ import annotations

from dataclasses import dataclass

from .._util.hashing import hashed_share


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `number` of `of`, from 1.

    The hash of its cluster decides which shard a sample belongs to: clusters stay whole, each
    shard is a fair sample, and nothing depends on what other samples there are.
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """`3/16`.

        Raises:
            ValueError: it is none.
        """
        number, _, of = text.partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
            raise ValueError(text)
        return cls(int(number), int(of))

    def holds(self, cluster: str) -> bool:
        """Whether the samples of a cluster belong to it."""
        return int(hashed_share(cluster, "shard") * self.of) == self.number - 1
