"""Tokens of a served model: as its answers state them; of one that states none, not known."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench import Failed, Generate, Generated, Tokens

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
REQUESTS = [Generate(f"prompt {n}", max_tokens=8) for n in range(5)]


@contextmanager
def serving(usage: Any, statuses: list[int]) -> Iterator[Any]:
    """A server of one text; the first answers have other statuses, 0 breaks the connection."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send(200, {"data": [{"id": "m"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = body.get("prompt", "")
            status = statuses.pop() if statuses and str(asked).startswith("prompt") else 200
            if not status:
                self.close_connection = True
                return
            chosen = {"index": 0, "text": "text", "finish_reason": "stop"}
            self.send(status, {"choices": [chosen], **({"usage": usage} if usage else {})})

        def send(self, status: int, value: Any) -> None:
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}/v1")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("usage", "statuses", "counted"),
    [
        (USAGE, [], Tokens(5 * 7, 5 * 3)),
        (USAGE, [429, 503, 429], Tokens(5 * 7, 5 * 3)),  # sent back unread
        (USAGE, [400], Tokens(4 * 7, 4 * 3)),
        (USAGE, [0, 500], Tokens(5 * 7, 5 * 3, 2)),  # perhaps read, and answered again
        (None, [], Tokens(0, 0, 5)),
        ({"completion_tokens": 3}, [], Tokens(0, 0, 5)),
        ({"prompt_tokens": "7", "completion_tokens": 3}, [], Tokens(0, 0, 5)),
        ({"prompt_tokens": -7, "completion_tokens": 3}, [], Tokens(0, 0, 5)),
    ],
)
def test_what_the_server_states_is_counted(
    usage: Any, statuses: list[int], counted: Tokens, engine_of: Callable[..., Any]
) -> None:
    refused = statuses.count(400)
    with serving(usage, statuses) as server:
        engine = engine_of(server)
        before = engine.tokens
        answers = [answer for _, answer in engine.answer(REQUESTS)]
        assert engine.tokens.since(before) == counted
    assert sum(isinstance(answer, Generated) for answer in answers) == 5 - refused
    assert sum(isinstance(answer, Failed) for answer in answers) == refused
    assert not hasattr(engine, "gpus")


def test_requests_that_nobody_waits_for_are_not_counted(engine_of: Callable[..., Any]) -> None:
    with serving(USAGE, []) as server:
        engine = engine_of(server, at_once=1)
        before = engine.tokens
        answers = engine.answer(REQUESTS)
        next(answers)
        answers.close()
        assert engine.tokens.since(before).uncounted == 1
