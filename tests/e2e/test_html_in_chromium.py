"""The HTML report in a real browser: what a reader sees, clicks and types.

Headless Chromium opens the file of an artificial run of thousands of flips. Whatever the page asks
for beside itself, and whatever it writes to the console, fails the test that saw it.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckptbench.analysis.conclude import conclude
from ckptbench.readers.detect import read
from ckptbench.readers.result import SampleRow
from ckptbench.reports.write import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=f"none of {', '.join(NAMES)} is installed")

ALONE = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"><b>bold</b>\u2028needle @one"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of five checkpoints of 1,500 samples, one of which is hostile."""
    folder = tmp_path_factory.mktemp("report")
    bench = Path(__file__).parents[1] / "bench" / "report.py"
    spec = importlib.util.spec_from_file_location("ckptbench_bench_report", bench)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make_run(folder, 5, 1_500)
    result = read(folder)

    def rows(checkpoint: str, benchmark: str) -> Iterator[SampleRow]:
        for row in result.samples(checkpoint, benchmark):
            hostile = row.id == changed
            yield replace(row, fields={**row.fields, "text": HOSTILE}) if hostile else row

    # A sample that the first checkpoint misses and the last one passes is among the flips.
    passed = {row.id for row in result.samples("checkpoint-400", "real") if row.status == "passed"}
    missed = (r.id for r in result.samples("checkpoint-100", "real") if r.status == "missed")
    changed = next(identity for identity in missed if identity in passed)
    write_report([replace(result, samples=rows)], conclude(result.measurements), folder, ["html"])
    return folder / "report.html"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ALONE)
        yield browser
        browser.close()


Open = Callable[..., Any]


@pytest.fixture
def opened(chromium: Any, report: Path) -> Iterator[Open]:
    """Opens the report in a window of its own; at the end, nothing may have gone wrong in it."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def asked(request: Any) -> None:
        if request.url not in (report.as_uri(), "data:,"):
            wrong.append(f"request: {request.url}")

    def open_report(width: int = 1280, height: int = 900, **others: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": height}, **others)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", asked)
        page.goto(report.as_uri())
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert wrong == []


def column(page: Any, place: int) -> list[str]:
    cells = page.locator("table.scores tbody tr").evaluate_all(
        "(rows, place) => rows.map((row) => row.cells[place].dataset.sort)", place
    )
    return list(cells)


def test_scores_are_sorted_by_the_column_that_is_clicked(opened: Open) -> None:
    page = opened()
    header = page.get_by_role("columnheader", name="real@1")
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    values = [float(value) for value in column(page, 2)]
    assert values == sorted(values, reverse=True)
    header.get_by_role("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert [float(value) for value in column(page, 2)] == sorted(values)
    assert page.locator("#sorted").text_content() == "Sorted by real@1, ascending"
    page.get_by_role("columnheader", name="checkpoint").first.get_by_role("button").click()
    assert header.get_attribute("aria-sort") is None
    assert column(page, 0) == [f"checkpoint-{n}00" for n in range(1, 6)]


def test_thousands_of_flips_are_listed_a_page_at_a_time(opened: Open) -> None:
    page = opened()
    assert page.locator("#list > li").count() == 25
    total = int(page.locator("#found").inner_text().split()[0].replace(",", ""))
    assert total > 1_000
    first = page.locator("#list > li").first.inner_text()
    page.get_by_role("button", name="Next").click()
    assert page.locator("#page").inner_text().startswith("Page 2 of ")
    assert page.locator("#list > li").first.inner_text() != first
    page.get_by_role("button", name="Previous").click()
    assert page.locator("#list > li").first.inner_text() == first
    assert page.get_by_role("button", name="Previous").is_disabled()


def test_flips_are_filtered_by_checkpoint_and_by_change(opened: Open) -> None:
    page = opened()
    page.get_by_role("combobox", name="Checkpoint").select_option("checkpoint-200")
    page.get_by_role("combobox", name="Change").select_option("won")
    found = page.locator("#found").inner_text()
    assert ": 0 lost, " in found
    assert not found.startswith("No")
    for heading in page.locator("#list h3").all_inner_texts():
        assert heading.startswith("▲ won")
        assert "checkpoint-200" in heading


def test_searching_finds_texts_and_shows_them_as_text(opened: Open) -> None:
    page = opened()
    search = page.get_by_role("searchbox", name="Search")
    found = page.locator("#found")
    search.fill("NEEDLE @one")
    playwright.expect(found).to_have_text(re.compile("^[1-4] flips: "))  # four are not the best
    text = page.locator("#list > li dd").first.evaluate("(shown) => shown.textContent")
    assert HOSTILE.replace("\u2028", "") in text.replace("\u2028", "")
    assert page.locator("#list img, #list b, main img").count() == 0
    assert page.title() != "broken"
    search.fill("no text holds this")
    playwright.expect(found).to_have_text("No flip matches.")
    assert page.locator("#list > li").count() == 0


def paper(page: Any) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_the_theme_follows_the_system_until_it_is_chosen_and_is_remembered(opened: Open) -> None:
    light, dark = paper(opened(color_scheme="light")), paper(opened(color_scheme="dark"))
    assert light != dark
    page = opened(color_scheme="light")
    to_dark = page.get_by_role("button", name="Switch to the dark theme")
    to_light = page.get_by_role("button", name="Switch to the light theme")
    to_dark.click()
    assert paper(page) == dark
    page.reload()
    assert paper(page) == dark
    to_light.click()
    assert paper(page) == light
    assert to_dark.is_visible()


def test_on_paper_it_is_light_without_controls_and_nothing_is_folded(opened: Open) -> None:
    page = opened(1047, 800, color_scheme="dark")
    page.get_by_role("button", name="theme").click()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert ink == opened(color_scheme="light").evaluate("getComputedStyle(document.body).color")
    for hidden in ("#theme", "#filters", "#next"):
        assert not page.locator(hidden).is_visible()
    closed = page.locator("main details:not([open])")
    assert closed.count() == page.locator("#list details").count()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1047
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count() > page.locator("#list details").count()


def test_a_short_name_is_not_broken_where_there_is_room(opened: Open) -> None:
    name = opened().locator("table.scores tbody th .short").first
    height, line = name.evaluate(
        "(shown) => [shown.offsetHeight, parseFloat(getComputedStyle(shown).lineHeight)]"
    )
    assert height < 1.5 * line


def test_text_stands_out_from_its_paper_in_both_themes(opened: Open) -> None:
    contrast = """() => {
      const light = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
          const share = part / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
      };
      const paper = (shown) => {
        for (let at = shown; at; at = at.parentElement) {
          const colour = getComputedStyle(at).backgroundColor;
          if (colour !== "rgba(0, 0, 0, 0)") return colour;
        }
      };
      const low = [];
      const texts = "p, li, th, td, dd, dt, a, summary, button, span, mark, caption, h1, h2";
      for (const shown of document.querySelectorAll(texts)) {
        if (!shown.innerText?.trim() || shown.disabled) continue;
        const [one, two] = [light(getComputedStyle(shown).color), light(paper(shown))];
        const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        if (ratio < 4.5) low.push(`${shown.tagName} ${shown.className} ${ratio.toFixed(2)}`);
      }
      return [...new Set(low)];
    }"""  # the contrast of WCAG 2.2, level AA
    for scheme in ("light", "dark"):
        assert opened(color_scheme=scheme).evaluate(contrast) == []


def test_every_control_is_reached_by_the_tab_key_and_shows_that_it_is(opened: Open) -> None:
    page = opened()
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                """() => {
                  const at = document.activeElement;
                  const seen = getComputedStyle(at).outlineStyle !== "none";
                  return (at.id || at.textContent.trim()) + (seen ? "" : " UNSEEN");
                }"""
            )
        )
        if reached[-1] == "next":
            break
    assert reached[0] == "Skip to the report"
    wanted = ["theme", "checkpoint", "step", "real@1", "real@5", "search"]
    wanted += ["by-benchmark", "by-checkpoint", "by-change", "next"]
    assert [name for name in reached if name in wanted] == wanted
    assert not [name for name in reached if name.endswith("UNSEEN")]


def test_the_skip_link_leads_to_the_report(opened: Open) -> None:
    page = opened()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 375, 768])
def test_nothing_scrolls_sideways(opened: Open, width: int) -> None:
    page = opened(width, 800)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """() => [...document.querySelectorAll("main *")]
          .filter((shown) => ["auto", "scroll"].includes(getComputedStyle(shown).overflowX))
          .map((shown) => shown.tagName)"""
    )
    assert wide == []


def test_without_scripts_everything_but_the_list_of_flips_is_there(opened: Open) -> None:
    page = opened(java_script_enabled=False)
    assert page.locator("table.scores tbody tr").count() == 5
    assert page.locator("svg.curves").count() == 2
    assert page.get_by_text("The list needs the page's script").is_visible()
    assert not page.locator("#filters").is_visible()
