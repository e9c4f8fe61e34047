"""One option of a session, declared once, as a field of `options.Options`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """One option. Its registration, ini setting, parser, help and default are made of this.

    Attributes:
        parse: makes the value from the text, or raises `argparse.ArgumentTypeError`; None for a
            switch without a value.
        default: the value when nothing was given.
        help: without the default, unless that needs explanation.
        many: `append` collects values in a tuple, `extend` joins tuples, `merge` merges mappings.
        bare: its value when it is given without one; empty where it needs one.
        remakes_items: whether it decides which items there are and what they ask, so that the
            command that runs one item again needs it.
        samples: whether it decides how answers are sampled: it is recorded with every run.
        secret: whether its value is never shown or stored.
        exec_limit: the argument of the sandbox that it sets, such as `timeout_s`; empty for others.
            Results record it as `exec_timeout_s`, and `ckptbench judge` has the option too.
        usual: what a limit is that was not given, where its default is None.
        heading: of `pytest --help`, which this option is the first of; empty for those that follow.
        name: `seq-len` for `--seq-len`, `--ckpt-seq-len` and the ini setting `ckpt_seq_len`.
    """

    parse: Callable[[str], Any] | None
    default: Any
    metavar: str
    help: str
    many: str = ""
    bare: str = ""
    remakes_items: bool = False
    samples: bool = False
    secret: bool = False
    exec_limit: str = ""
    usual: Any = None
    heading: str = ""
    name: str = ""

    @property
    def field(self) -> str:
        """Its attribute of `Options`."""
        return self.name.replace("-", "_")

    @property
    def dest(self) -> str:
        """Its ini setting, and its name in pytest's configuration."""
        return f"ckpt_{self.field}"

    @property
    def help_text(self) -> str:
        """The help with the default, where there is one to show."""
        shown = "" if isinstance(self.default, bool | tuple | dict) else self.default
        if shown in (None, "") or "(default" in self.help:
            return self.help
        return f"{self.help} (default {shown})"


def option(
    parse: Callable[[str], Any] | None, default: Any, metavar: str, *, help: str, **more: Any
) -> Any:
    """A field of the dataclass of options; see `Option` for the arguments."""
    metadata = {"option": Option(parse, default, metavar, help, **more)}
    if isinstance(default, dict):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def switch(*, help: str, **more: Any) -> Any:
    """An option without a value: off until it is given."""
    return option(None, False, "", help=help, **more)
