"""A server of the Hugging Face Hub's HTTP API, as far as its client needs it for downloads."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_API = re.compile(
    r"/api/(models|datasets)/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/([^/]+)(/.+)?)?"
)
_FILE = re.compile(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")

Repositories = Mapping[str, Mapping[str, Path]]
"""The folder of each revision of a repository, by its name: `datasets/maker/code` is a dataset."""


def commit_of(folder: Path) -> str:
    """The commit of a revision: 40 hexadecimal digits that depend on its folder."""
    return hashlib.sha1(str(folder).encode()).hexdigest()


@dataclass
class Hub:
    """A running server.

    Attributes:
        address: the value of `HF_ENDPOINT`.
        gated: names of repositories that nobody may read.
        asked: `METHOD path` of every request.
    """

    repositories: Repositories
    gated: frozenset[str] = frozenset()
    address: str = ""
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str, wanted: list[str]) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body; `wanted` are the files that a body asks for."""
        api, file = _API.fullmatch(path), _FILE.fullmatch(path)
        if api:
            kind, name, what, revision, inside = api.groups()
            if inside:  # a folder: the repositories have none
                return 404, {"X-Error-Code": "EntryNotFound"}, b""
            name = f"datasets/{name}" if kind == "datasets" else name
        elif file:
            kind, name, revision, what = file.groups()
            name = f"{kind or ''}{name}"
        else:
            return 404, {}, b""
        if name in self.gated:
            return 401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is gated"}, b""
        if name not in self.repositories:
            return 401, {"X-Error-Code": "RepoNotFound"}, b""
        revisions = self.repositories[name]
        commits = {commit_of(folder): folder for folder in revisions.values()}
        folder = {**revisions, **commits}.get(unquote(revision or "main"))
        if folder is None:
            return 404, {"X-Error-Code": "RevisionNotFound"}, b""
        if file:
            return self._file(folder, folder / unquote(what))
        return 200, {"Content-Type": "application/json"}, self._json(folder, name, what, wanted)

    def _file(self, folder: Path, file: Path) -> tuple[int, dict[str, str], bytes]:
        commit = {"X-Repo-Commit": commit_of(folder)}
        if not file.is_file():
            return 404, {**commit, "X-Error-Code": "EntryNotFound"}, b""
        content = file.read_bytes()
        return 200, {**commit, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}, content

    def _json(self, folder: Path, name: str, what: str | None, wanted: list[str]) -> bytes:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        by_name = {path.relative_to(folder).as_posix(): path for path in files}
        if what in ("tree", "paths-info"):
            names = [n for n in by_name if what == "tree" or n in wanted]
            listed: Any = [
                {
                    "type": "file",
                    "path": n,
                    "size": by_name[n].stat().st_size,
                    "oid": hashlib.sha1(by_name[n].read_bytes()).hexdigest(),
                }
                for n in names
            ]
        else:
            siblings = [{"rfilename": n} for n in by_name]
            listed = {"id": name.removeprefix("datasets/"), "sha": commit_of(folder)}
            listed |= {"siblings": siblings, "private": False, "gated": False, "tags": []}
        return json.dumps(listed).encode()


@contextmanager
def hub(repositories: Repositories, gated: frozenset[str] = frozenset()) -> Iterator[Hub]:
    """A hub with some repositories, while the block runs."""
    running = Hub(repositories, gated)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

        def _answer(self) -> None:
            running.asked.append(f"{self.command} {self.path}")
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            wanted = json.loads(sent).get("paths", []) if sent else []
            status, headers, body = running.answer(urlsplit(self.path).path, wanted)
            begin, last = 0, len(body) - 1
            if part := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
                begin, last = int(part[1]), min(int(part[2] or last), last)
                headers |= {"Content-Range": f"bytes {begin}-{last}/{len(body)}"}
                status = 206
            body = body[begin : last + 1]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = _answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
