"""Programs that fail for want of a library: said where the scores are, not only in a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_SAID = re.compile(r"ModuleNotFoundError[^:]*: No module named '([^'.]+)")
_NAMED = 5


def lacking(reasons: Iterable[str]) -> Counter[str]:
    """How many programs failed because they import a package that the sandbox does not have.

    Args:
        reasons: why programs missed, one a program.
    """
    return Counter(found[1] for found in map(_SAID.search, reasons) if found is not None)


def lacking_note(reasons: Iterable[str]) -> str:
    """The same as a sentence with a remedy; empty when no program lacks anything."""
    lacks = lacking(reasons)
    if not lacks:
        return ""
    n = lacks.total()
    common = [name for name, _ in lacks.most_common(_NAMED)]
    told = ", ".join(f"{name} ({lacks[name]:,})" for name in common)
    more = f" and {len(lacks) - _NAMED:,} more" if len(lacks) > _NAMED else ""
    programs = "1 program fails" if n == 1 else f"{n:,} programs fail"
    return (
        f"{programs} for want of a package that is not in the sandbox: {told}{more}; "
        f"where it is installed, --exec-libraries {','.join(common)} lets programs import it"
    )
