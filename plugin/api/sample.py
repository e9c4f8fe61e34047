"""A sample: one question with a known answer, and the hash by which it is known again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from .._util.errors import CkptbenchError
from .._util.jsonio import JSON

# `json.dumps` would make an encoder for each call, which costs as much as the encoding.
_CANONICAL = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
)


def content_hash(value: JSON) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Sample:
    """One question with a known answer.

    Attributes:
        id: unique within its dataset, of `[A-Za-z0-9_./-]`; it becomes the item's id.
        fields: the question and its answer as JSON values, named as in the dataset.
        cluster: samples cut from one source text share it; they are not independent.
        hash: the content hash of `fields`: the same question in another file is the same sample.
    """

    id: str
    fields: Mapping[str, JSON]
    cluster: str = ""
    hash: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.hash:
            try:
                object.__setattr__(self, "hash", content_hash(self.fields))
            except (TypeError, ValueError) as error:
                raise CkptbenchError(
                    f"a field is no JSON value: {error}", where=f"sample {self.id!r}"
                ) from None
        if not self.cluster:
            object.__setattr__(self, "cluster", self.hash)

    def __getitem__(self, name: str) -> JSON:
        return self.fields[name]
