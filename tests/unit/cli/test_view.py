"""`ckptbench view`: a table of the runs, their reports, and nothing else to nobody else."""

from __future__ import annotations

import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ckptbench.cli import main
from ckptbench.cli.view import Pages, serving

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

ANSWERED = {f"s-{i}": [(float(i % 2), 1.0)] for i in range(8)}


@pytest.fixture
def results(tmp_path: Path, make_run: Callable[..., Path]) -> Path:
    folder = tmp_path / "results"
    make_run(folder / "monday", {"step-9": ANSWERED}, started="2026-01-05T10:00:00+00:00")
    make_run(folder / "tuesday <b>", {"step-9": ANSWERED}, started="2026-01-06T10:00:00+00:00")
    make_run(folder / "killed", {"step-9": ANSWERED}, ended=False)
    (folder / "notes.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    return folder


@pytest.fixture
def port(results: Path) -> Iterator[int]:
    with serving(Pages(results, 0.05, {}), 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def asked(
    port: int, path: str = "/", *, host: str = "127.0.0.1:{}", method: str = "GET"
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    if host:
        connection.putheader("Host", host.format(port))
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def test_the_table_has_every_run_and_links_those_with_a_report(port: int) -> None:
    status, page, headers = asked(port)
    assert status == 200
    rows = re.findall(r'<th role="rowheader" scope="row">(.*?)</th>', page)
    assert rows == [
        "killed",
        '<a href="/run/tuesday%20%3Cb%3E">tuesday &lt;b&gt;</a>',
        '<a href="/run/monday">monday</a>',
    ]
    assert "real@1 50.00%" in page
    assert "--run-id=killed goes on" in page
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Cache-Control"] == "no-store"


def test_the_policy_of_the_table_lets_its_own_script_ask_this_server_alone(port: int) -> None:
    _, page, _ = asked(port)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src &#39;none&#39;;")
    assert "connect-src &#39;self&#39;" in policy
    assert "script-src &#39;sha256-" in policy


def test_a_report_is_the_exported_page(port: int, results: Path, tmp_path: Path) -> None:
    assert main(["report", str(results / "monday"), "-o", str(tmp_path / "made")]) == 0
    status, page, _ = asked(port, "/run/monday")
    assert status == 200
    assert page == (tmp_path / "made/report.html").read_text("utf-8")
    assert "connect-src" not in page


def test_what_changes_is_another_page(
    port: int, results: Path, make_run: Callable[..., Path]
) -> None:
    def state() -> str:
        return re.findall(r'data-state="(\w+)"', asked(port)[1])[0]

    before = state()
    assert state() == before
    make_run(results / "new", {"step-9": ANSWERED}, started="2026-01-07T10:00:00+00:00")
    assert state() != before
    assert asked(port, "/run/new")[0] == 200


def test_nothing_is_read_that_the_table_does_not_name(port: int) -> None:
    inside = ["/run/killed", "/run/notes.txt", "/notes.txt", "/run/monday/summary.json", "/monday"]
    outside = ["/run/..", "/run/..%2Foutside.txt", "/run/%2e%2e/outside.txt", "/../outside.txt"]
    for path in (*inside, *outside, "/run/", "monday"):
        status, page, _ = asked(port, path)
        assert status == 404, path
        assert "secret" not in page


def test_another_host_is_refused_as_a_page_elsewhere_may_lead_here(port: int) -> None:
    for host in ("evil.example:{}", "127.0.0.1.evil.example:{}", "127.0.0.1", ""):
        for path in ("/", "/run/monday"):
            status, page, _ = asked(port, path, host=host)
            assert status == 403
            assert "monday" not in page
    assert asked(port, host="localhost:{}")[0] == 200


def test_nothing_but_get_is_answered(port: int) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        assert asked(port, method=method)[0] == 501


def test_it_listens_on_this_machine_alone(results: Path) -> None:
    with serving(Pages(results, 0.05, {}), 0) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_a_run_that_cannot_be_read_is_named_and_no_link(port: int, results: Path) -> None:
    (results / "monday/summary.json").write_text("{", encoding="utf-8")
    assert "cannot be read" in asked(port)[1]
    assert asked(port, "/run/monday")[0] == 404


def test_the_folder_of_one_run_is_a_table_of_one(results: Path) -> None:
    pages = Pages(results / "monday", 0.05, {})
    assert '<a href="/run/monday">' in str(pages.page("/"))
    assert pages.page("/run/monday")


def test_an_empty_folder_says_that_runs_will_appear(tmp_path: Path) -> None:
    assert "No run yet" in str(Pages(tmp_path, 0.05, {}).page("/"))


def test_a_folder_that_is_not_there_and_a_taken_port_are_refused(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(results / "nowhere")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["view", str(results), f"--port={taken.getsockname()[1]}"]) == 2
    assert "leave it out for a free one" in capsys.readouterr().err
    assert main(["view", str(results), "--port=99999"]) == 2
