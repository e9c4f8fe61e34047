"""Engines that ask the server with the causal demo checkpoint in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest


@pytest.fixture
def connected() -> Iterator[Callable[..., Any]]:
    """Connects to a server, with little patience: `connected(server, retries=2)`."""
    from ckptbench.fixtures.endpoints.connection import connect
    from ckptbench.fixtures.endpoints.retries import Patience

    with ExitStack() as stack:

        def connection(server: Any, *, retries: int = 3, path: str = "", **more: Any) -> Any:
            patience = Patience(60, retries, first_wait_s=0.01, longest_wait_s=0.05)
            endpoint = connect(f"{server.url}{path}", patience=patience, **more)
            stack.callback(endpoint.close)
            return endpoint

        yield connection


@pytest.fixture
def engine_of(connected: Callable[..., Any]) -> Callable[..., Any]:
    """The engine of a server: `engine_of(server, retries=2)`."""
    from ckptbench.fixtures.endpoints.engine import EndpointEngine

    return lambda server, **more: EndpointEngine(connected(server, **more))
