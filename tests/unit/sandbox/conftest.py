"""The sandbox, taken apart: every test here starts its processes or speaks their protocol."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder; pytest hands over those of the whole session."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("sandbox")
