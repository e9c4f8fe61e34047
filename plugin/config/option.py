"""One option of a session, declared once: name, parser, default, help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: `seq-len` for `--seq-len`, `--ckpt-seq-len` and the ini setting `ckpt_seq_len`.
        parse: makes the value from the text, or raises `argparse.ArgumentTypeError`; None for a
            switch without a value.
        default: the value when nothing was given.
        bare: what the option means when it stands without a value; empty where it needs one.
        many: `append` collects values in a tuple, `extend` joins tuples, `merge` merges mappings.
    """

    name: str
    parse: Callable[[str], Any] | None
    default: Any
    metavar: str
    help: str
    many: str = ""
    bare: str = ""

    @property
    def field(self) -> str:
        return self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        return f"ckpt_{self.field}"
