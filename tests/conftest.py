"""What all tests share: pytest in pytest, a server of a demo, lm-eval's index made once."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest_plugins = ("pytester",)

TESTS = Path(__file__).parent

# Workers share the cores: where each had a thread for every core, most of them would wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell's job in the background ignores Ctrl-C, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So does one that outlives its terminal (`nohup`) with the terminal's end.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Markers that follow from what a test asks for.
MARKER_OF = {
    "chromium": "browser",
    "corpora": "slow",
    "gpu": "gpu",
    "models": "slow",
    "sandbox": "sandbox",
    "serve": "server",
    "server": "server",
    "transformers_serve": "server",
}


@pytest.hookimpl(tryfirst=True, optionalhook=True)  # `tests/mutation` loads no other plugins
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests wait for processes and servers as well."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their fixtures, and those that `make coverage` runs, before `-m` selects."""
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            if fixture in MARKER_OF:
                item.add_marker(MARKER_OF[fixture])
        own = any(TESTS / folder in item.path.parents for folder in ("unit", "pytester"))
        if own and not any(map(item.get_closest_marker, ("slow", "sandbox"))):
            item.add_marker("counted")


@pytest.fixture(scope="session")
def one_lm_eval_index() -> Iterator[None]:
    """lm-eval's index of the 14,000 tasks that it ships is made once for all tests of a process.

    It takes seconds, and lm-eval makes it again for each further folder of tasks. A run of pytest
    inside a test imports lm-eval anew, unless it was imported before, as it is here.
    """
    if importlib.util.find_spec("lm_eval") is None:
        yield
        return
    from lm_eval.tasks._index import TaskIndex

    import lm_eval.tasks

    shipped = Path(lm_eval.tasks.__file__).parent
    build = TaskIndex.build
    made: dict[str, Any] = {}

    def build_once(paths: Iterable[Path], **options: Any) -> dict[str, Any]:
        roots = list(paths)
        if shipped not in roots:
            return build(roots, **options)
        if not made:
            made.update(build([shipped], **options))
        return {**made, **build([root for root in roots if root != shipped], **options)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TaskIndex, "build", staticmethod(build_once))
        yield


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
