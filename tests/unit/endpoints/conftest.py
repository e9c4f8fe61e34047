"""A server with the causal demo checkpoint in it, and engines that ask it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _server_module() -> ModuleType:
    name = "ckptbench_demo_server"
    if name not in sys.modules:
        file = Path(__file__).parents[2] / "servers/demo_server.py"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def model() -> Any:
    """The demo checkpoint, loaded once."""
    import torch

    torch.set_num_threads(1)
    return _server_module().Model()


@pytest.fixture
def serve(model: Any) -> Iterator[Callable[..., Any]]:
    """Starts a server: `serve(lacks={"n"}, fault=lambda number: "429")`."""
    with ExitStack() as stack:

        def started(lacks: set[str] = frozenset(), **more: Any) -> Any:  # type: ignore[assignment]
            server = _server_module().DemoServer(model, lacks=frozenset(lacks), **more)
            return stack.enter_context(server)

        yield started


@pytest.fixture
def connected() -> Iterator[Callable[..., Any]]:
    """Connects to a server, with little patience: `connected(server, retries=2)`."""
    from ckptbench.fixtures.endpoints.client import Patience
    from ckptbench.fixtures.endpoints.connection import connect

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
    from ckptbench.fixtures.engines.endpoint import EndpointEngine

    return lambda server, **more: EndpointEngine(connected(server, **more))
