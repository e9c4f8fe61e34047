"""A server of OpenAI's HTTP API with the causal demo checkpoint in it, which can misbehave.

What it answers is computed by the local engine, so a client that understands it gets the same
scores. What it is told to lack it ignores in silence, as real servers do.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ckptbench.api.requests import Generate, Generated, LogLikelihood, Request, Response
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import load_causal_lm
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.endpoints.capabilities import PROBE_TEXT
from ckptbench.fixtures.engines.causal.engine import CausalLMEngine
from ckptbench.fixtures.engines.causal.generation_state import TextRow

ALL = frozenset(
    {"n", "seed", "temperature", "echo", "prompt_logprobs", "ids", "tokenize", "chat", "finish"}
)
# Seconds between two bytes of an answer that drips.
DRIP_S = 0.02
MODEL = "demo"
POSITIONS = 512


class Model:
    """A causal checkpoint: its engine, and the scores of each token of a prompt."""

    def __init__(self, checkpoint: str = "demo-code") -> None:
        self.loaded = load_causal_lm(resolve(checkpoint), LoadOptions(device="cpu", dtype="fp32"))
        self.engine = CausalLMEngine(self.loaded)
        self._turn = threading.Lock()

    def answers(self, *requests: Request) -> list[Response]:
        with self._turn:
            found = dict(self.engine.answer(requests))
        return [found[index] for index in range(len(requests))]

    def continued(self, ids: list[int], *requests: Generate) -> list[Response]:
        """Texts behind token ids as they are: no prompt of a request is looked at."""
        text = self.engine._text
        rows = [
            TextRow(index, request, tuple(ids), request.max_tokens, text.ends(request), frozenset())
            for index, request in enumerate(requests)
        ]
        with self._turn:
            found = dict(self.engine._generation.answers(rows))
        return [found[index] for index in range(len(requests))]

    def ids(self, text: str) -> list[int]:
        return list(self.loaded.tokenizer(text)["input_ids"])

    def logprobs(self, ids: list[int]) -> Any:
        import torch

        with self._turn, torch.inference_mode():
            logits = self.loaded.model(input_ids=torch.tensor([ids])).logits
        return logits[0].float().log_softmax(-1)


@dataclass
class DemoServer:
    """Serves until the `with` block ends.

    Attributes:
        lacks: abilities that it has not.
        squeezes: whether it gives an answer as many tokens as there is room for, in silence.
        positions: tokens of prompt and answer that it says to take at most.
        fault: what goes wrong with a request, by its number, from 0. Requests that only try
            out what the server can do are not counted.
        probe_fault: what goes wrong with those, from now on.
        port: where it listens; 0 for any that is free.
        seen: headers and bodies of all requests.
        flooded: bytes that went out of answers without an end.
    """

    model: Model
    lacks: frozenset[str] = frozenset()
    squeezes: bool = False
    positions: int = POSITIONS
    fault: Callable[[int], str] = lambda number: ""
    probe_fault: str = ""
    port: int = 0
    seen: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    asked: int = 0
    flooded: int = 0
    connections: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> DemoServer:
        handler = type("Handler", (_Handler,), {"demo": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self._http.daemon_threads = True
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening, once."""
        with self._turn:
            http, self._http = self._http, None  # type: ignore[assignment]
        if http is not None:
            http.shutdown()
            http.server_close()

    def next_fault(self, body: Any) -> str:
        if PROBE_TEXT in json.dumps([body.get("prompt"), body.get("messages")]):
            return self.probe_fault
        with self._turn:
            number, self.asked = self.asked, self.asked + 1
        return self.fault(number)

    def has(self, ability: str) -> bool:
        return ability not in self.lacks

    # Answers

    def completions(self, body: dict[str, Any]) -> tuple[int, Any]:
        prompt = body["prompt"]
        if isinstance(prompt, list) and prompt and isinstance(prompt[0], str):
            return 400, {"detail": "prompt must be a string."}
        if not isinstance(prompt, str) and not self.has("ids"):
            return 400, {"detail": "prompt must be a string."}
        ids = self.model.ids(prompt) if isinstance(prompt, str) else prompt
        most = body.get("max_tokens", 16)
        if self.squeezes:
            most = min(most, self.positions - len(ids))
            body = {**body, "max_tokens": most}
        if most < 1 or len(ids) + most > self.positions:
            message = f"This model's maximum context length is {self.positions} tokens."
            return 400, {"error": {"message": message, "type": "BadRequestError", "code": 400}}
        text = prompt if isinstance(prompt, str) else self.model.loaded.tokenizer.decode(prompt)
        choices = self._choices(ids, body)
        if body.get("echo") and self.has("echo"):
            for choice in choices:
                choice["text"] = text + choice["text"]
                choice["logprobs"] = self._echoed(ids, choice)
        elif body.get("logprobs") is not None:
            # What a server tells that ignores `echo`: values of what it generated.
            for choice in choices:
                tokens = ["x"] * most
                choice["logprobs"] = {
                    "tokens": tokens,
                    "token_logprobs": [-0.5] * most,
                    "top_logprobs": [{"x": -0.5}] * most,
                    "text_offset": list(range(most)),
                }
        if body.get("prompt_logprobs") is not None and self.has("prompt_logprobs"):
            choices[0]["prompt_logprobs"] = self._listed(ids)
        # All that end by themselves are told as one token: nobody is to look there.
        ended = choices[0]["finish_reason"] == "length"
        usage = {"completion_tokens": most if ended else 1}
        self._finished(choices)
        return 200, {"object": "text_completion", "choices": choices, "usage": usage}

    def chat(self, body: dict[str, Any]) -> tuple[int, Any]:
        if not self.has("chat"):
            return 500, "Internal Server Error"
        (message,) = body["messages"]
        choices = self._choices(self.model.ids(message["content"]), body)
        for choice in choices:
            choice["message"] = {"role": "assistant", "content": choice.pop("text")}
        self._finished(choices)
        return 200, {"object": "chat.completion", "choices": choices}

    def _choices(self, ids: list[int], body: dict[str, Any]) -> list[dict[str, Any]]:
        n = body.get("n", 1) if self.has("n") else 1
        hot = body.get("temperature", 1.0) if self.has("temperature") else 0.0
        with self._turn:
            self._drawn = getattr(self, "_drawn", 0) + 1
            unseeded = self._drawn * 1000
        first = body.get("seed", 0) if self.has("seed") else unseeded
        # Stop strings are left to the client: it must cut at them itself.
        answers = self.model.continued(
            ids,
            *(
                Generate(
                    "",
                    max_tokens=body.get("max_tokens", 16),
                    temperature=hot,
                    top_p=body.get("top_p", 1.0),
                    seed=first + place,
                )
                for place in range(n)
            ),
        )
        choices = []
        for index, answer in enumerate(answers):
            assert isinstance(answer, Generated), answer
            finish = "length" if answer.finish == "length" else "stop"
            choices.append({"index": index, "text": answer.text, "finish_reason": finish})
        return choices

    def _finished(self, choices: list[dict[str, Any]]) -> None:
        """Simple servers have the field and never fill it in."""
        for choice in choices if not self.has("finish") else ():
            choice["finish_reason"] = None

    def _echoed(self, ids: list[int], choice: dict[str, Any]) -> dict[str, Any]:
        told = self._listed(ids)
        tokenizer = self.model.loaded.tokenizer
        best = self.model.logprobs(ids)
        tops: list[Any] = [None]
        for place in range(1, len(ids)):
            value, top = best[place - 1].max(-1)
            tops.append({tokenizer.decode([int(top)]): float(value)})
            tops[-1].setdefault(tokenizer.decode([ids[place]]), float(best[place - 1][ids[place]]))
        columns = {
            "tokens": [tokenizer.decode([token]) for token in ids],
            "token_logprobs": [v and next(iter(v.values()))["logprob"] for v in told],
            "top_logprobs": tops,
        }
        if choice["finish_reason"] == "length":
            columns["tokens"].append("x")
            columns["token_logprobs"].append(-0.1)
            columns["top_logprobs"].append({"x": -0.1})
        return columns

    def _listed(self, ids: list[int]) -> list[Any]:
        values = self.model.logprobs(ids)
        told: list[Any] = [None]
        for place in range(1, len(ids)):
            row, token = values[place - 1], ids[place]
            told.append(
                {
                    str(token): {
                        "logprob": float(row[token]),
                        "rank": int((row > row[token]).sum()) + 1,
                        "decoded_token": self.model.loaded.tokenizer.decode([token]),
                    }
                }
            )
        return told

    @cached_property
    def listing(self) -> Any:
        return {
            "object": "list",
            "data": [{"id": MODEL, "owned_by": "tests", **self._stated()}],
        }

    def _stated(self) -> dict[str, Any]:
        """Its length, in vLLM's words or in llama-server's."""
        n = self.positions
        return {"meta": {"n_ctx": n}} if self.squeezes else {"max_model_len": n}


class _Handler(BaseHTTPRequestHandler):
    demo: DemoServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.demo.connections += 1

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._send(200, self.demo.listing)
        else:
            self._send(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.demo.seen.append((dict(self.headers), body))
        routes = {"/v1/completions": self.demo.completions, "/v1/chat/completions": self.demo.chat}
        if self.path == "/tokenize" and self.demo.has("tokenize"):
            self._send(200, {"count": len(self.demo.model.ids(body["prompt"]))})
            return
        if self.path not in routes:
            self._send(404, {"detail": "Not Found"})
            return
        fault = self.demo.next_fault(body)
        if fault in ("429", "503"):
            self._send(int(fault), {"error": "slow down"}, {"Retry-After": "0.05"})
        elif fault == "500":
            self._send(500, "Internal Server Error")
        elif fault == "400":
            told = {"error": {"message": f"no such thing, {self.headers.get('Authorization')}"}}
            self._send(400, told)
        elif fault == "reset":
            self.close_connection = True
        elif fault == "die":
            threading.Thread(target=self.demo.stop, daemon=True).start()
            self.close_connection = True
        else:
            status, answer = routes[self.path](body)
            if fault == "drip":
                self._drip(json.dumps(answer).encode())
            elif fault in ("flood", "flood-500"):
                self._flood(500 if fault == "flood-500" else 200)
            else:
                self._send(status, _spoilt(answer, fault), cut=fault == "cut")

    def _drip(self, content: bytes) -> None:
        """An answer that keeps coming, byte by byte: no pause is long, the whole is."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(OSError):
            for place in range(len(content)):
                self.wfile.write(content[place : place + 1])
                self.wfile.flush()
                time.sleep(DRIP_S)
        self.close_connection = True

    def _flood(self, status: int) -> None:
        """An answer without an end, until nobody reads it any more."""
        self.send_response(status)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(b'{"choices": [{"index": 0, "text": "')
            while True:
                self.wfile.write(b"x" * 65536)
                self.demo.flooded += 65536
        self.close_connection = True

    def _send(
        self, status: int, answer: Any, headers: dict[str, str] | None = None, cut: bool = False
    ) -> None:
        content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.wfile.flush()
            self.close_connection = True


def _spoilt(answer: Any, fault: str) -> Any:
    """An answer with something wrong in it that its status does not tell."""
    if fault == "half":
        answer["choices"] = answer["choices"][: len(answer["choices"]) // 2]
    elif fault == "reorder":
        answer["choices"].reverse()
    elif fault == "renumber":
        for choice in answer["choices"]:
            choice["index"] = 0
    elif fault == "null":
        for choice in answer["choices"]:
            choice["text"] = None
    elif fault.startswith("finish="):
        word = fault.removeprefix("finish=")
        for choice in answer["choices"]:
            choice["finish_reason"] = None if word == "null" else word
    elif fault == "first-aborts":
        answer["choices"][0]["finish_reason"] = "abort"
    elif fault.startswith("model="):
        answer["model"] = fault.removeprefix("model=")
    elif fault == "other-text":
        for choice in answer["choices"]:
            where, key = (choice["message"], "content") if "message" in choice else (choice, "text")
            where[key] = "of another model"
    elif fault == "surrogate":
        for choice in answer["choices"]:
            choice["text"] = "a\ud83d"
    elif fault == "webpage":
        return "<html>Welcome</html>"
    elif fault == "null-value":
        for choice in answer["choices"]:
            if "prompt_logprobs" in choice:
                choice["prompt_logprobs"][-1] = None
            if "logprobs" in choice:
                choice["logprobs"]["token_logprobs"][-2] = None
    elif fault == "no-first":
        for choice in answer["choices"]:
            choice.get("prompt_logprobs", [0]).pop(0)
            for column in ("tokens", "token_logprobs", "top_logprobs"):
                choice.get("logprobs", {}).get(column, [0]).pop(0)
    elif fault.startswith("error="):
        code = fault.removeprefix("error=")
        return {"error": {"message": "Provider returned error", "code": int(code)}}
    elif fault == "no-choices":
        return {"usage": {"completion_tokens": 3}}
    return answer


__all__ = ["ALL", "MODEL", "DemoServer", "LogLikelihood", "Model"]


if __name__ == "__main__":  # a server of its own: python demo_server.py CHECKPOINT PORT
    with DemoServer(Model(sys.argv[1]), port=int(sys.argv[2])):
        threading.Event().wait()
