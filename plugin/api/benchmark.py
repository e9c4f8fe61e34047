"""`@samples`, which makes a test function a benchmark, and benchmarks by the names of tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from inspect import Parameter, signature
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any, TypeVar

from .._util.errors import CkptbenchError
from .._util.extensions import contributions
from ..scores.score import Reducer
from .protocol import EvalProtocol
from .sample import Sample

if TYPE_CHECKING:
    from ..config.options import Options

F = TypeVar("F", bound=Callable[..., object])
Dataset = (
    Iterable[Sample]
    | Callable[["Options"], Iterable[Sample] | None]
    | Callable[["Options", Path | None], Iterable[Sample] | None]
)
ATTRIBUTE = "__ckptbench__"


class Miss(AssertionError):
    """Raised by a benchmark function when the model answered, wrongly.

    A failed `assert` of the function itself means the same. Any other exception is an error:
    no valid answer was obtained, and the run is incomplete.
    """


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a benchmark function was decorated with.

    Attributes:
        name: such as `real`; the part of its protocols' names before the slash.
        dataset: the samples, or a function that loads them, given the options, and the benchmark's
            data file if it has a second argument.
        protocols: how they are asked; the first one's scores are gated.
        on_request: further protocols, used only when `--protocol` names them.
        score: folds the outcomes of a sample's trials.
        limits_itself: whether the dataset applies `--limit` itself.
        configured_as: the name that a configuration file has its settings under; empty when that
            is its own.
        settings: what else decides what is measured, by the names of `gate.identity`.
    """

    name: str
    dataset: Dataset
    protocols: tuple[EvalProtocol, ...]
    score: Reducer
    on_request: tuple[EvalProtocol, ...] = ()
    limits_itself: bool = False
    configured_as: str = ""
    settings: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)

    @property
    def takes_data(self) -> bool:
        """Whether it reads a data file that is given to it, by `--data` say."""
        if not callable(self.dataset):
            return False
        arguments = signature(self.dataset).parameters.values()
        positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        return sum(a.kind in positional and a.default is a.empty for a in arguments) > 1

    def load(self, options: Options, data: Path | None = None) -> Sequence[Sample] | None:
        """The samples of a session, in the dataset's order; None when it is left out."""
        rows: Any = self.dataset
        if callable(rows):
            rows = rows(options, data) if self.takes_data else rows(options)
        return rows if rows is None or isinstance(rows, Sequence) else tuple(rows)


def samples(
    dataset: Dataset,
    *,
    protocol: EvalProtocol | Sequence[EvalProtocol],
    score: Reducer,
    on_request: Sequence[EvalProtocol] = (),
    limits_itself: bool = False,
) -> Callable[[F], F]:
    """Make a test function a benchmark: one item for every sample of a dataset.

    The function is called with what it names: `sample`, `response` (what the protocol read from
    the engine's answer), `k` (then once for each k of the score), and any session-scoped fixture.
    It returns when the answer is right and raises `Miss`, or fails an `assert`, when it is wrong.

    Args:
        dataset: samples, or a function that loads them given the session's `Options` and, if it
            has a second argument, the file that `--data=BENCH=FILE` names for it, or None. It may
            give None: the benchmark is left out of the session.
        protocol: how they are asked; several are asked side by side, and the first is gated.
        score: how outcomes become scores, such as `top_k(1, 5)`.
        on_request: further protocols, asked only when `--protocol` names them.
        limits_itself: whether `dataset` applies `--limit`; otherwise its first samples are taken.

    Raises:
        CkptbenchError: no protocol, or protocols of different benchmarks.
    """
    protocols = (protocol,) if isinstance(protocol, EvalProtocol) else tuple(protocol)
    names = {p.benchmark for p in (*protocols, *on_request)}
    if len(names) != 1:
        raise CkptbenchError(
            "a benchmark needs one or more protocols whose names start alike",
            where="@samples",
            remedy=f"got {[p.name for p in protocols]}; name them BENCHMARK/VARIANT",
        )

    def decorate(function: F) -> F:
        benchmark = Benchmark(
            protocols[0].benchmark, dataset, protocols, score, tuple(on_request), limits_itself
        )
        setattr(function, ATTRIBUTE, benchmark)
        return function

    return decorate


def benchmark_family(load: Callable[[Options], Iterable[Benchmark]]) -> Callable[[F], F]:
    """Make a test function several benchmarks, which are known only once options are read.

    Args:
        load: gives the session's benchmarks; none, and the function is left out.
    """

    def decorate(function: F) -> F:
        setattr(function, ATTRIBUTE, Family(load))
        return function

    return decorate


@dataclass(frozen=True, slots=True)
class Family:
    """What `@benchmark_family` decorates a function with."""

    load: Callable[[Options], Iterable[Benchmark]]


def benchmark_of(function: object) -> Benchmark | Family | None:
    """What a function was decorated with; None for anything else."""
    found = getattr(function, ATTRIBUTE, None)
    return found if isinstance(found, Benchmark | Family) else None


def benchmarks_of(function: object, options: Options) -> Iterable[Benchmark]:
    """The benchmarks that a decorated function is."""
    found = benchmark_of(function)
    if found is None:
        return ()
    return found.load(options) if isinstance(found, Family) else (found,)


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


def task_names(options: Options, *, but: str = "") -> frozenset[str]:
    """Names of all tasks there are.

    Args:
        but: name of a source whose tasks are left out.
    """
    sources = (source for source in _task_sources() if source.name != but)
    return frozenset(name for source in sources for name in source.names(options))


def task_benchmarks(options: Options) -> Iterator[Benchmark]:
    """The benchmarks of all tasks that a session's options name."""
    for source in _task_sources():
        yield from source.benchmarks(options)


def _task_sources() -> Iterable[TaskSource]:
    return contributions("pytest_ckptbench_tasks").values()
