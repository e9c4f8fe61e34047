"""`ckptbench view`: the reports of a folder's runs in the browser, served on this machine alone."""

from __future__ import annotations

import argparse
import threading
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

from .._util.errors import CkptbenchError, denied_is_refused
from ..config.parsers import whole_number
from .arguments import Commands, add_command, add_options, add_runs_folder
from .runs import HEADINGS, folders_of_runs, row_of

_LOCAL = "127.0.0.1"
_REPORT = "/run/"
T = TypeVar("T")
_EXAMPLES = """\
  ckptbench view
  ckptbench view nightly-results --open
  ckptbench view --port 8765

Everybody who is logged in on this machine can read the pages, and nobody from elsewhere. Ctrl-C
ends it, with exit status 0.
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    command = add_command(
        commands,
        "view",
        run,
        "Serve a folder's runs to the browser of this machine: a table of all runs, which new ones "
        "join as they begin, and the HTML report of each one that has ended.",
        help="browse the runs of a results folder and their reports",
        examples=_EXAMPLES,
    )
    add_runs_folder(command)
    command.add_argument(
        "--port", type=whole_number, default=0, metavar="N", help="port (default: a free one)"
    )
    command.add_argument("--open", action="store_true", help="open the page in a browser")
    add_options(command, "tolerance", "alpha", "lang")


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C; the exit status is 0."""
    from ..reports.write import check_formats

    folder: Path = arguments.folder
    check_formats(["html"])
    if not folder.is_dir():
        raise CkptbenchError(
            "there is no such folder", where=str(folder), remedy="give the folder of --results-dir"
        )
    server = serving(Pages(folder, arguments.alpha, arguments.tolerance), arguments.port)
    address = f"http://{_LOCAL}:{server.server_port}/"
    print(f"{address} has the runs of {folder}; Ctrl-C ends it", flush=True)
    with server, suppress(KeyboardInterrupt):
        if arguments.open:
            webbrowser.open(address)
        server.serve_forever()
    return 0


@dataclass
class Pages:
    """The pages of a folder of runs, made of the runs' data when they are asked for."""

    folder: Path
    alpha: float
    tolerance: Mapping[str, float]
    _made: dict[tuple[str, Path, int], Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self, path: str) -> str | None:
        """The page at a path of the address; None where the table of runs names none.

        Raises:
            CkptbenchError: a run cannot be read.
        """
        with self._lock:  # matplotlib draws one chart at a time
            runs = self._runs()
            if path == "/":
                return self._index(runs)
            folder = runs.get(unquote(path.removeprefix(_REPORT)))
            if folder is None or not path.startswith(_REPORT) or not self._row(folder)[1]:
                return None
            return self._once("report", folder, self._report)

    def _runs(self) -> dict[str, Path]:
        from ..readers.run import SUMMARY

        if (self.folder / SUMMARY).is_file():
            return {self.folder.absolute().name: self.folder}
        with suppress(CkptbenchError):
            return {folder.name: folder for folder in folders_of_runs(self.folder)}
        return {}

    def _index(self, runs: Mapping[str, Path]) -> str:
        from ..reports.html.page import runs_page

        rows = [(f"{_REPORT}{quote(name, '')}", self._row(runs[name])) for name in runs]
        # What is not finished has no time, and comes first.
        rows.sort(key=lambda row: (not row[1][1], row[1][1]), reverse=True)
        linked = [(address if cells[1] else "", cells) for address, cells in rows]
        return runs_page(str(self.folder), HEADINGS, linked)

    def _row(self, folder: Path) -> tuple[str, ...]:
        return self._once("row", folder, row_of)

    def _report(self, folder: Path) -> str:
        from ..reports.html.page import html_report
        from ..reports.plots.figures import drawings
        from ..reports.plots.series import charts
        from ..reports.write import concluded

        result, conclusions = concluded(folder, alpha=self.alpha, tolerance=self.tolerance, seed=0)
        drawn = drawings(*charts([result], conclusions))
        return html_report([result], conclusions, drawn)

    def _once(self, kind: str, folder: Path, make: Callable[[Path], T]) -> T:
        """What is made of a run, again only after its summary was written again."""
        from ..readers.run import SUMMARY

        try:
            key = (kind, folder, (folder / SUMMARY).stat().st_mtime_ns)
        except OSError:
            return make(folder)
        if key not in self._made:
            self._made[key] = make(folder)
        made: T = self._made[key]
        return made


def serving(pages: Pages, port: int) -> ThreadingHTTPServer:
    """A server of the pages on this machine's own address, which still has to be started.

    Raises:
        CkptbenchError: the port is not to be had.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = 30  # seconds; browsers open connections that they may never use

        def do_GET(self) -> None:
            # Another name in Host is that of a page elsewhere whose owner lets it lead here (DNS
            # rebinding): its scripts could read the answer.
            if self.headers.get("Host") not in hosts:
                return self._send(HTTPStatus.FORBIDDEN, f"only for {' and '.join(hosts)}")
            try:
                with denied_is_refused():
                    page = pages.page(urlsplit(self.path).path)
            except CkptbenchError as error:
                return self._send(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
            if page is None:
                return self._send(HTTPStatus.NOT_FOUND, "there is no such run")
            return self._send(HTTPStatus.OK, page, "html")

        def _send(self, status: HTTPStatus, text: str, kind: str = "plain") -> None:
            content = text.encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": f"text/{kind}; charset=utf-8",
                "Content-Length": str(len(content)),
                "Content-Security-Policy": "frame-ancestors 'none'",
                "Cache-Control": "no-store",
                "Cross-Origin-Resource-Policy": "same-origin",
                "X-Content-Type-Options": "nosniff",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # the browser went elsewhere
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing: the terminal has the address."""

    try:
        server = ThreadingHTTPServer((_LOCAL, port), Handler)
    except (OSError, OverflowError) as error:
        raise CkptbenchError(
            f"cannot be used: {error}", where=f"--port {port}", remedy="leave it out for a free one"
        ) from None
    hosts = [f"{name}:{server.server_port}" for name in (_LOCAL, "localhost")]
    return server
