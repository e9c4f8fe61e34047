"""Random choices that are the same on every machine, whatever else is chosen from."""

from __future__ import annotations

import hashlib


def hashed_share(text: str, salt: str) -> float:
    """A number in [0, 1) that is uniformly distributed over texts, and fixed for each."""
    digest = hashlib.sha256(f"{salt}:{text}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53
