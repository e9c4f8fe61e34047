"""`ckptbench view` as a user starts it, and its table in a browser while a run arrives."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.server]
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture
def served(workspace: Any) -> Iterator[tuple[subprocess.Popen[str], Path, str]]:
    """The process, its folder with one run, and its address: the first that it prints."""
    suite = (
        "pytest benchmarks -k 'real and not origin' --checkpoint=demo-mlm --limit=20 --run-id=first"
    )
    workspace.run(suite).expect(0)
    process = subprocess.Popen(
        [Path(sys.executable).parent / "ckptbench", "view"],
        cwd=workspace.path,
        env=workspace.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0]
        yield process, workspace.path / "results", address
    finally:
        process.kill()
        process.wait()


def test_it_prints_its_address_serves_and_ends_quietly(served: Any) -> None:
    process, _, address = served
    for path in ("", "run/first"):
        with urllib.request.urlopen(f"{address}{path}", timeout=60) as answer:
            assert "real@1" in answer.read().decode()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert rest == ""


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason=f"none of {', '.join(NAMES)} is installed")
def test_a_run_that_arrives_joins_the_table(served: Any) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    _, results, address = served
    wrong: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address)
        assert page.locator("tbody tr").count() == 1
        shutil.copytree(results / "first", results / "second")
        page.get_by_role("link", name="second").click(timeout=60_000)
        page.get_by_role("heading", name="Scores").wait_for()
        browser.close()
    assert wrong == []
