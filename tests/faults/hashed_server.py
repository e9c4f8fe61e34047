"""The server of the endpoint tests, with a model in it that answers by a hash of the text."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ckptbench import Generate, Generated

ANSWER_S = 0.03
# What a simple server cannot do, so that finding out is quick.
LACKS = frozenset({"n", "echo", "prompt_logprobs", "tokenize", "chat"})


class HashedModel:
    """What `demo_server.Model` is, as far as texts are continued; its tokens are bytes."""

    loaded = SimpleNamespace(tokenizer=SimpleNamespace(decode=lambda ids: bytes(ids).decode()))

    def __init__(self, log: Path) -> None:
        self._log = log
        self._turn = threading.Lock()

    def ids(self, text: str) -> list[int]:
        return list(text.encode())

    def continued(self, ids: list[int], *requests: Generate) -> list[Generated]:
        """A number of three digits for a text, whatever the settings."""
        time.sleep(ANSWER_S)
        text = bytes(ids)
        if text.startswith(b"text "):
            with self._turn, self._log.open("ab") as log:
                log.write(text + b"\n")
        number = int.from_bytes(hashlib.sha256(text).digest()[:4], "big") % 1000
        return [Generated(f"{number:03}", 3, "eos") for _ in requests]


def serve(log: Path, fault: Callable[[int], str] = lambda number: "", port: int = 0) -> Any:
    """A server, to be entered.

    Args:
        log: gets a line for each text that is asked.
        fault, port: as of `DemoServer`.
    """
    name = "ckptbench_demo_server"  # as in tests/conftest.py
    if name not in sys.modules:
        file = Path(__file__).parents[1] / "servers/demo_server.py"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name].DemoServer(HashedModel(log), lacks=LACKS, fault=fault, port=port)
