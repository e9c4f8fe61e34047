"""Where things stand in the folder of a run."""

from __future__ import annotations

import hashlib
import re

STORE = "store.sqlite"
PARTS = "parts"  # in a watched run's folder, a run for each checkpoint
_LONGEST_BYTES = 120  # leaves room for our endings in the 255 bytes of common file systems


def safe_name(name: str) -> str:
    """A name as one component of a path, in any script; different names stay different.

    A name that has to be changed or cut gets the first 8 digits of its SHA-256 at the end.
    """
    safe = re.sub(r"[^\w.-]+", "_", name).lstrip(".-")
    if safe == name and name and len(name.encode()) <= _LONGEST_BYTES:
        return name
    digest = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:8]
    short = safe.encode(errors="ignore")[:_LONGEST_BYTES].decode(errors="ignore")
    return f"{short}-{digest}" if short else digest
