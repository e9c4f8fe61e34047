"""The documents agree with the code and with each other."""

from __future__ import annotations

import doctest
import re
from functools import cache
from pathlib import Path

import pytest

from ckptbench.config.options import OPTIONS
from ckptbench.config.parsers import GATES
from ckptbench.gate.verdict import Word

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    str(page.relative_to(ROOT)) for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
)
# Options of pytest, of its plugins and of the `ckptbench` command that the pages name.
OTHERS = {
    "against",
    "build",
    "by",
    "checkpoint-a",
    "checkpoint-b",
    "common",
    "csv",
    "data",
    "dataset",
    "drop",
    "older-than",
    "durations",
    "flips",
    "force",
    "format",
    "help",
    "idle",
    "json",
    "json-report",
    "junitxml",
    "lf",
    "markdown",
    "maxfail",
    "metrics",
    "n",
    "once",
    "order",
    "pattern",
    "open",
    "pdb",
    "per-text",
    "plot",
    "port",
    "power",
    "pyargs",
    "reruns",
    "settle",
    "setup-show",
    "stop-early",
    "sw",
    "tests",
    "text",
    "tsv",
    "uri",
}
# Of pip, mypy, the client of the hub (`hf download`) and lm-eval (`--batch_size`).
FOREIGN = {"batch", "extra-index-url", "revision", "strict"}
FOREIGN |= {"enable-lora", "host", "lora-modules"}  # servers'
FOREIGN |= {"array", "dependency", "gpus", "job-name", "parsable", "signal"}  # SLURM's
FOREIGN |= {"address", "disable-usage-stats", "head", "port"}  # Ray's


@cache
def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, made the way GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_there_are_the_pages_a_reader_looks_for() -> None:
    assert {
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "README.ko.md",
        "README.md",
        "docs/architecture.md",
        "docs/ci.md",
        "docs/metrics.md",
        "docs/writing-a-benchmark.md",
    } <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        place = (ROOT / page).parent / path if path else ROOT / page
        assert place.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(str(place.resolve().relative_to(ROOT))), target


@pytest.mark.parametrize("page", PAGES)
def test_options_that_a_page_names_exist(page: str) -> None:
    ours = {prefix + option.name for option in OPTIONS for prefix in ("", "ckpt-")}
    named = set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text_of(page)))
    assert named <= ours | OTHERS | FOREIGN


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page: str) -> None:
    folders = r"(?:plugin|fixtures|benchmarks|tests|docs)"
    for name in re.findall(rf"`({folders}/[\w./-]+)`", text_of(page)):
        assert (ROOT / name).exists(), f"{page} names {name}"


def changes() -> dict[str, tuple[int, set[str]]]:
    """CONTRIBUTING's table: the rooms that it states for each change, and the paths it names."""
    table = text_of("CONTRIBUTING.md").partition("| change | rooms | files |\n")[2]
    rows = [line.split("|")[1:4] for line in table.partition("\n\n")[0].splitlines()[1:]]
    paths = r"`((?:plugin|fixtures|benchmarks)/[\w./]*)`"
    return {name.strip(): (int(n), set(re.findall(paths, files))) for name, n, files in rows}


def room_of(path: str) -> str:
    tree, _, rest = path.partition("/")
    return tree if tree == "benchmarks" else f"{tree}/{rest.partition('/')[0]}"


@pytest.mark.parametrize("change", changes())
def test_a_change_goes_where_the_table_says_in_as_many_rooms(change: str) -> None:
    rooms, paths = changes()[change]
    assert paths
    assert all((ROOT / path).exists() for path in paths)
    assert len({room_of(path) for path in paths}) == rooms


def test_twelve_changes_take_eighteen_rooms() -> None:
    assert len(changes()) == 12
    assert sum(rooms for rooms, _ in changes().values()) == 18


@pytest.mark.parametrize("page", PAGES)
def test_targets_of_make_that_a_page_names_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", text_of(page)))
    named |= set(re.findall(r"^make ([a-z-]+)\b", text_of(page), re.MULTILINE))
    assert named <= targets


def test_every_figure_of_the_metrics_page_is_what_the_code_gives() -> None:
    attempted = doctest.testfile(
        str(ROOT / "docs/metrics.md"), module_relative=False, encoding="utf-8"
    )
    assert attempted.attempted > 5
    assert attempted.failed == 0


def test_the_metrics_page_defines_every_verdict_gate_and_protocol() -> None:
    from ckptbench.fixtures.datasets import lambada, real_k

    page = text_of("docs/metrics.md")
    table = page.partition("### The verdict")[2]
    for word in Word.__args__:  # type: ignore[attr-defined]
        assert f"| `{word}` |" in table
    for protocol in (*real_k.PROTOCOLS, *lambada.PROTOCOLS):
        assert f"`{protocol.name}`" in page
    for gate in GATES:
        assert f"`--gate={gate}`" in text_of("docs/ci.md")


def test_the_metrics_page_names_every_reason_to_skip() -> None:
    from ckptbench.fixtures.engines.masked import requests
    from ckptbench.fixtures.text import tokens

    reasons = {
        tokens.OVER_LENGTH,
        requests.FIRST_MENTION_OUT,
        requests.NO_SINGLE_TOKEN,
        requests.NOT_IN_VOCABULARY,
    }
    assert {reason for reason in reasons if f"`{reason}`" in text_of("docs/metrics.md")} == reasons


def test_the_changelog_has_an_entry_for_this_version() -> None:
    import ckptbench

    assert f"## [{ckptbench.__version__}]" in text_of("CHANGELOG.md")


def test_every_pin_is_a_plain_release() -> None:
    lines = [line for line in text_of("constraints.txt").splitlines() if not line.startswith("#")]
    assert len(lines) > 40
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==\d[0-9a-z.]*", line), line
