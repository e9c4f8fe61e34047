"""Tasks by name: benchmarks that a session's options name, from whatever source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from runpy import run_path
from typing import TYPE_CHECKING

from .._util.extensions import contributions
from .benchmark import Benchmark, benchmark_of

if TYPE_CHECKING:
    from ..config.options import Options


@dataclass(frozen=True, slots=True)
class TaskSource:
    """Where tasks come from.

    Attributes:
        name: of the source, such as `lm-eval`.
        names: gives the names of all its tasks; called only when a name has to be checked.
        benchmarks: makes a benchmark of each of its tasks that the options name. What a protocol
            of theirs reads from a response has a mapping `values`, the value of each metric that
            the benchmark's reducer, a `Named`, has a name for.
    """

    name: str
    names: Callable[[Options], Iterable[str]]
    benchmarks: Callable[[Options], Iterable[Benchmark]]


@cache
def suite_benchmarks() -> frozenset[str]:
    """Names of the benchmarks of the suite, whether or not pytest collects them.

    In a configuration file their names mean them, and not tasks of lm-eval. The modules are run by
    themselves: one that was imported could not have its asserts rewritten by pytest any more.
    """
    folder = resources.files("ckptbench.benchmarks")
    files = sorted(str(file) for file in folder.iterdir() if file.name.startswith("test_"))
    found = (benchmark_of(value) for file in files for value in run_path(file).values())
    return frozenset(each.name for each in found if isinstance(each, Benchmark))


def task_sources() -> tuple[TaskSource, ...]:
    """Every source there is, the suite's first."""
    return tuple(contributions("pytest_ckptbench_tasks").values())


def task_names(options: Options, *, but: str = "") -> frozenset[str]:
    """Names of all tasks there are.

    Args:
        but: name of a source whose tasks are left out.
    """
    sources = (source for source in task_sources() if source.name != but)
    return frozenset(name for source in sources for name in source.names(options))


def task_benchmarks(options: Options) -> Iterator[Benchmark]:
    """The benchmarks of all tasks that a session's options name."""
    for source in task_sources():
        yield from source.benchmarks(options)
