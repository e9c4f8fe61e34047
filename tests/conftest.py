"""What all tests share: pytest's own fixture for running pytest, and a server of a demo."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest_plugins = ("pytester",)


@pytest.fixture(scope="session")
def demo_server() -> ModuleType:
    """The module of the server with the causal demo checkpoint in it."""
    name = "ckptbench_demo_server"
    if name not in sys.modules:
        file = Path(__file__).parent / "servers/demo_server.py"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def served(demo_server: ModuleType) -> Any:
    """The demo checkpoint as the server has it, loaded once."""
    import torch

    torch.set_num_threads(1)
    return demo_server.Model()


@pytest.fixture
def serve(demo_server: ModuleType, served: Any) -> Iterator[Callable[..., Any]]:
    """Starts a server: `serve(lacks={"n"}, fault=lambda number: "429")`."""
    with ExitStack() as stack:

        def started(lacks: set[str] = frozenset(), **more: Any) -> Any:  # type: ignore[assignment]
            server = demo_server.DemoServer(served, lacks=frozenset(lacks), **more)
            return stack.enter_context(server)

        yield started
