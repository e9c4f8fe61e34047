"""A small benchmark project that tests of the plugin run in a pytest of its own.

Its engine answers at once and does what a sample's text tells it; every text that it is asked is
appended to a file, so that tests can count.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# In-process runs forget the modules that they import. Numpy cannot be imported twice, and pydantic,
# which loads its parts when they are used, takes a field of its earlier self for a default.
import numpy  # noqa: F401
import pydantic.fields
import pydantic.main  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
from run_folder import RunFolder

import ckptbench.config.eval_config_file  # noqa: F401

with contextlib.suppress(ImportError):
    import datasets  # noqa: F401  (pyarrow takes its types once in a process)
with contextlib.suppress(ImportError):
    import matplotlib.figure
    import matplotlib.gridspec  # noqa: F401  (as numpy)
with contextlib.suppress(ImportError):
    # It takes the place of Python's own finder of packages, which is not restored after a run.
    import importlib_metadata  # noqa: F401  (mlflow imports it)

CONFTEST = '''
"""An engine that does what the first word of a text tells it."""
import os, time
from pathlib import Path

import pytest

from ckptbench import Failed, Filled, Skipped

HERE = Path(__file__).parent


def note(name, line):
    with (HERE / name).open("a") as log:
        log.write(f"{line}\\n")


def once(name):
    """Whether this is the first time that anybody asks."""
    try:
        (HERE / f"{name}.once").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class Scripted:
    fingerprint = os.environ.get("FINGERPRINT", "scripted")
    settings = {"seq_len": int(os.environ.get("SEQ_LEN", "128"))}

    def answer(self, requests):
        note("calls.log", len(requests))
        for index, request in enumerate(requests):
            note("asked.log", request.text)
            spoiled = request.text in os.environ.get("SPOILED", "").split(",")
            yield from self.obey(index, "wrong" if spoiled else request.text.split()[0])

    def obey(self, index, word):
        rank = {"wrong": None, "second": 2}.get(word, 1)
        if word == "slow":
            time.sleep(float(os.environ.get("SLOW_S", "0.2")))
        if word == "failed":
            yield index, Failed("the server said no", "status 500")
        elif word == "flaky" and once("flaky"):
            yield index, Failed("the server was away")
        elif word == "skipped":
            yield index, Skipped("too_long")
        elif word == "raise":
            raise RuntimeError("out of memory")
        elif word == "die-once" and once("died"):
            os._exit(9)
        elif word == "die":
            os._exit(9)
        elif word == "silent":
            return
        elif word == "beyond":
            yield 10_000, Filled(("x",), (0.0,), 1, 1)
        elif word in ("nan", "inf", "-inf"):
            yield index, Filled(("x",), (float(word),), 1, 1)
        else:
            yield index, Filled(("x", "y"), (-0.1, -2.0), rank, 1)
            if word == "twice":
                yield index, Filled(("y", "x"), (-0.1, -2.0), None, 1)


@pytest.fixture(scope="session")
def engine():
    return Scripted()
'''

BENCHMARK = """
from ckptbench import FillMask, EvalProtocol, Sample, samples, top_k

TEXTS = ...
ROWS = [Sample(f"s-{i:02}", {"text": text}) for i, text in enumerate(TEXTS)]


def ask(sample, asking):
    if sample["text"].startswith("unaskable"):
        raise ValueError("no mask in the text")
    return FillMask(sample["text"], (0, 1), "x", top=asking.top)


def read(sample, response):
    if sample["text"].startswith("unreadable"):
        raise LookupError("no such candidate")
    return response


PROTOCOL = EvalProtocol("word/plain", ask, read)
OTHER = EvalProtocol("word/other", ask, read)


@samples(ROWS, protocol=(PROTOCOL,), score=top_k(1, 5))
def test_word(response, k):
    assert response.within(k)
"""

BY_HAND = """
def test_by_hand():
    assert True
"""

_REPORTED = re.compile(r"::(?:test_word\[)?([\w/.-]+)\]? ([A-Z]+)\b")


OWNERS = {"-n": "xdist", "--reruns": "rerunfailures"}
"""The plugins of options."""

# Of the package, which this process has imported.
NOT_REWRITTEN = "-Wignore:Module already imported:pytest.PytestAssertRewriteWarning"


@contextlib.contextmanager
def few_plugins(args: Sequence[str], plugins: Sequence[str] = ()) -> Iterator[list[str]]:
    """The arguments of a run with those plugins alone that it needs, of all that are installed."""
    owners = {OWNERS[option] for option in OWNERS for arg in args if arg.startswith(option)}
    needed = ["ckptbench", "ckptbench-fixtures", *plugins, *owners]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        yield [*args, *(f"-p{name}" for name in needed), NOT_REWRITTEN]


@dataclass(frozen=True)
class Project:
    """The project's folder and what runs in it left behind.

    Attributes:
        all_plugins: whether runs in this process have all plugins that are installed. They take
            a third of a small run's time.
    """

    pytester: pytest.Pytester
    all_plugins: bool = False

    @property
    def path(self) -> Path:
        return self.pytester.path

    def write(
        self,
        texts: Sequence[str] = ("right aa", "wrong bb", "second c", "right dd"),
        *,
        benchmark: str = BENCHMARK,
        conftest: str = "",
        by_hand: str = BY_HAND,
    ) -> Project:
        """Write the benchmark, the engine and a hand-written test beside them."""
        self.file("conftest.py", CONFTEST + conftest)
        self.file("test_bench.py", benchmark.replace("TEXTS = ...", f"TEXTS = {list(texts)!r}"))
        if by_hand:
            self.file("test_hand.py", by_hand)
        return self

    def file(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *args: str) -> pytest.RunResult:
        """Run pytest in this process, in the order of collection."""
        if self.all_plugins:
            return self.pytester.runpytest_inprocess("-p", "no:randomly", *args)
        with few_plugins(args) as arguments:
            return self.pytester.runpytest_inprocess(*arguments)

    def run_apart(self, *args: str, plugins: Sequence[str] = ()) -> pytest.RunResult:
        """Run pytest in a process of its own, with few plugins, as every worker loads them all."""
        with few_plugins(args, plugins) as arguments:
            return self.pytester.runpytest_subprocess(*arguments, timeout=240)

    def change(self, name: str, old: str, new: str) -> None:
        """Put something else in a place of a file."""
        text = (self.path / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        self.file(name, text.replace(old, new))

    @contextlib.contextmanager
    def spoiled(self, *texts: str) -> Iterator[None]:
        """Another checkpoint, which gives wrong answers to some of the texts."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SPOILED", ",".join(texts))
            patch.setenv("FINGERPRINT", f"spoiled {sorted(texts)}")
            yield

    @staticmethod
    def ran(result: pytest.RunResult) -> dict[str, str]:
        """What a `-v` run said of each item, in order, by `s-00` or a test's own name."""
        found = (_REPORTED.search(line) for line in result.outlines)
        return {match[1]: match[2] for match in found if match}

    @property
    def asked(self) -> list[str]:
        """Every text that the engine was asked, in order."""
        log = self.path / "asked.log"
        return log.read_text().splitlines() if log.exists() else []

    def forget_asked(self) -> None:
        """Begin to count anew."""
        for name in ("asked.log", "calls.log"):
            (self.path / name).unlink(missing_ok=True)

    @property
    def run_folders(self) -> list[Path]:
        """The folders of all runs, oldest first."""
        return sorted(
            (path for path in (self.path / "results").glob("*") if path.is_dir()),
            key=lambda path: path.stat().st_mtime_ns,
        )

    @property
    def latest(self) -> RunFolder:
        """The latest run."""
        return RunFolder.latest(self.path)

    @property
    def summary(self) -> dict[str, Any]:
        """The latest run's summary."""
        return self.latest.summary

    @property
    def result(self) -> dict[str, Any]:
        """The latest run's only benchmark."""
        return self.latest.benchmark

    @property
    def coverage(self) -> dict[str, Any]:
        found: dict[str, Any] = self.result["coverage"]
        return found

    @property
    def scores(self) -> dict[str, Any]:
        """Value of each metric."""
        return {score["metric"]: score["value"] for score in self.result["scores"]}

    @property
    def verdicts(self) -> dict[str, str]:
        """The gate's word on each metric."""
        return {verdict["metric"]: verdict["word"] for verdict in self.result["verdicts"]}

    @property
    def statuses(self) -> dict[str, str]:
        """What the latest run wrote of each item: its status by node id."""
        files = (self.path / "results").glob("*/samples/*/*.jsonl")
        latest = max(files, key=lambda path: path.stat().st_mtime_ns)
        lines = [json.loads(line) for line in latest.read_text(encoding="utf-8").splitlines()]
        return {line["nodeid"]: line["status"] for line in lines}


@pytest.fixture(scope="session", autouse=True)
def packages_are_read_once() -> Iterator[None]:
    """What installed packages say of themselves: reading it takes a sixth of a small run's time."""
    with pytest.MonkeyPatch.context() as patch:
        for library in filter(
            None, map(sys.modules.get, ("importlib.metadata", "importlib_metadata"))
        ):
            for name in ("metadata", "entry_points"):
                read = getattr(library.PathDistribution, name).fget
                patch.setattr(library.PathDistribution, name, property(_kept(read)))
        yield


def _kept(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    found: dict[str, Any] = {}

    def kept(package: Any) -> Any:
        path = str(package._path)
        if not path.startswith(sys.prefix):  # a test's own
            return read(package)
        if path not in found:
            found[path] = read(package)
        return found[path]

    return kept


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project; `write` fills it."""
    workers = ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID")
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS", "CI", *workers):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return Project(pytester)


@pytest.fixture
def standard(project: Project) -> Project:
    """Four samples, of which two pass at k = 1 and three at k = 5, and a hand-written test."""
    return project.write()
