"""Our names as MLflow allows them.

MLflow takes letters, digits, `_`, `-`, `.`, space and `/` in the names of metrics, params and
tags. `real@1` becomes `real_at_1`; every other character that is not allowed becomes `_`.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 250
MOST_PARAM_CHARACTERS = 500  # 6,000 of newer servers, 500 of older ones
MOST_TAG_CHARACTERS = 5000
_FORBIDDEN = re.compile(r"[^\w. /-]+")


def legal_name(name: str) -> str:
    """A name with the forbidden characters replaced, as a path of at most 250 characters."""
    spelled = _FORBIDDEN.sub("_", name.replace("@", "_at_"))
    # MLflow wants paths in their shortest form: no empty, `.` or `..` parts.
    parts = [part for part in spelled.split("/") if part.strip(". ")]
    return "/".join(parts)[:MOST_CHARACTERS].rstrip("/ ") or "_"


def metric_name(metric: str, protocol: str = "") -> str:
    """A metric's name: `real_at_1`, or `real/single-mask/real_at_1` with its protocol.

    Args:
        protocol: of a benchmark's protocol that is not its first, whose metrics are called alike.
    """
    return legal_name(f"{protocol}/{metric}" if protocol else metric)


def standard_error_name(metric: str) -> str:
    """The metric that holds another one's standard error."""
    return f"{metric}_se"


def cut(text: str, most: int) -> str:
    """A text that fits, its end replaced by `...` where it does not."""
    return text if len(text) <= most else text[: most - 3] + "..."
