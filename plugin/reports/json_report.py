"""The `ckptbench` part of the file that pytest-json-report writes."""

from __future__ import annotations

from .._util.jsonio import JSON
from ..results.as_json import summary_as_json
from ..results.summary import Summary


def json_report_part(summary: Summary) -> dict[str, JSON]:
    """What stands under `ckptbench`: the object of `summary.json`, so one schema fits both."""
    return summary_as_json(summary)
