"""Tasks of lm-eval, in this process."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_index(one_lm_eval_index: None) -> None:
    """All tests here read the tasks that lm-eval ships."""


@pytest.fixture(scope="module", autouse=True)
def _own_modules() -> None:
    """A manager that an earlier run of pytest in this process left belongs to other modules."""
    from ckptbench.fixtures.lm_eval import tasks

    tasks._manager.cache_clear()
