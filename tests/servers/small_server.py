"""A server of OpenAI's HTTP API without a model, started as `small_server.py CHECKPOINT PORT`.

More arguments are not looked at. It prints its process number and that of a process of its own, and
answers with the first digits of the hash of the checkpoint's weights. `SMALL_SERVER` says what goes
wrong: `dies` at the start, `closed` (no port is opened), `probed` (it is killed at the first
question), `base` (its model belongs to no other), `hangs` or `ends` at the first question that is
no probe.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

FAULT = os.environ.get("SMALL_SERVER", "")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    word = ""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        parent = {"parent": None} if FAULT == "base" else {}
        self._send(200, {"data": [{"id": "small", **parent}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/completions" or not isinstance(body["prompt"], str):
            self._send(404, {"detail": "Not Found"})
            return
        if FAULT == "probed":
            print("no such device", flush=True)
            os.kill(os.getpid(), signal.SIGILL)
        if FAULT == "ends" and body["prompt"].startswith("question"):
            os._exit(9)
        if FAULT == "hangs" and body["prompt"].startswith("question"):
            print("hangs", flush=True)
            time.sleep(600)
        self._send(
            200, {"choices": [{"index": 0, "text": f" {self.word}", "finish_reason": "stop"}]}
        )

    def _send(self, status: int, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main(checkpoint: Path, port: int) -> None:
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(f"pids {os.getpid()} {helper.pid}", flush=True)
    if FAULT == "dies":
        print("no such device", flush=True)
        sys.exit(3)
    if FAULT == "closed":
        time.sleep(600)
    (weights,) = checkpoint.glob("*.safetensors")
    Handler.word = hashlib.sha256(weights.read_bytes()).hexdigest()[:8]
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
