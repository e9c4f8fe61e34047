"""Reducers: fold the trials of one sample into its value of each metric.

Each is a small frozen value; a benchmark names one of them in `score=`. A new one is a class, its
line in `REDUCERS`, and the name of what makes it in `__all__`. Stored runs hold a reducer as its
name and fields, so that folding the outcomes does not need the benchmark: with pytest-xdist, the
process that folds never imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from math import comb, fsum, isfinite, log, nan
from typing import Any, ClassVar, Self, TypeVar

from .._util.errors import CkptbenchError, nearest
from .._util.extensions import contributions
from .metric import BITS_PER_BYTE, PERPLEXITY, SHARE, Metric, Unit, known_metric
from .score import Reducer

__all__ = ["Named", "bits_per_byte", "first_choice", "mean", "pass_at_k", "top_k"]

Kind = TypeVar("Kind", bound=type[Any])


def estimate_pass_at_k(n: int, c: int, k: int) -> float | None:
    """The unbiased estimate of pass@k from n trials of which c passed.

    `1 - C(n-c, k) / C(n, k)`: one minus the share of the subsets of k trials in which none
    passed (Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1).
    The binomial coefficients are exact integers and are divided once, so nothing overflows or
    cancels and the result is the float nearest to the true value.

    Returns:
        The estimate, or None when k > n: it does not exist for so few trials.

    Raises:
        ValueError: not `0 <= c <= n`, or `k < 1`.
    """
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"pass@k needs 0 <= c <= n and k >= 1, not n={n}, c={c}, k={k}")
    if k > n:
        return None
    subsets = comb(n, k)
    return (subsets - comb(n - c, k)) / subsets


def bits_per_byte(logprob: float | None, text: str) -> float:
    """Bits that a model spends on each byte of a text: `-logprob / ln 2 / UTF-8 bytes`.

    The measure of Heineman et al. 2025, "Signal and Noise" (arXiv 2508.13144), over the text of
    the right answer: less is better, 0 is certainty.

    Args:
        logprob: natural-log probability of the whole text; None when it is not known.

    Returns:
        NaN where there is no finite log probability, or no text.
    """
    if logprob is None or not isfinite(logprob) or not text:
        return nan
    return -logprob / log(2) / len(text.encode("utf-8", "surrogatepass"))


class _Averaging:
    """Takes the mean over a sample's trials of each value; has no values of k of its own."""

    __slots__ = ()
    takes_k: ClassVar[bool] = False
    several_trials: ClassVar[bool] = False

    def with_ks(self, ks: tuple[int, ...]) -> Self:
        """Itself: there is no other k."""
        return self

    def reduce(self: Reducer, trials: Sequence[Sequence[float]]) -> tuple[float | None, ...]:
        """The mean over the trials of each value; None for each when there is no trial."""
        if not trials:
            return (None,) * len(self.metrics(""))
        return tuple(fsum(column) / len(column) for column in zip(*trials, strict=True))


@dataclass(frozen=True, slots=True)
class TopK(_Averaging):
    """Was the answer among the first k? Several trials of one sample are averaged.

    Attributes:
        ks: the values of k; the benchmark function is called with each.
        bits_per_byte: whether the bits per byte of the right answer are a further metric;
            they are read from the response's `answer_logprob`.
    """

    ks: tuple[int, ...]
    bits_per_byte: bool = False
    takes_k: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_ks(self.ks, "top_k")

    def with_ks(self, ks: tuple[int, ...]) -> TopK:
        """The same question for other values of k."""
        return replace(self, ks=ks)

    @property
    def observed(self) -> tuple[str, ...]:
        """Names of what `observe` reads."""
        return tuple(_bits_metric(self))

    def metrics(self, benchmark: str) -> tuple[str, ...]:
        """`real@1`, `real@5` ... for benchmark `real`, and `real_bits_per_byte`."""
        return (*(f"{benchmark}@{k}" for k in self.ks), *_bits_metric(self, f"{benchmark}_"))

    def kinds(self, benchmark: str) -> dict[str, Metric]:
        """Bits per byte are no share."""
        return _bits_metric(self, f"{benchmark}_")

    def observe(self, response: Any, answer: str) -> tuple[float, ...]:
        """What is read from a response itself, named in `observed`."""
        return _bits_of(self, response, answer)


@dataclass(frozen=True, slots=True)
class PassAtK:
    """Would one of k trials pass? A trial passes at the value 1.0.

    Attributes:
        at: the values of k. The benchmark function does not see them: it judges one trial.
    """

    at: tuple[int, ...]
    ks: ClassVar[tuple[int, ...]] = ()  # a trial is judged once, whatever k is
    takes_k: ClassVar[bool] = True
    several_trials: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_ks(self.at, "pass_at_k")

    def with_ks(self, ks: tuple[int, ...]) -> PassAtK:
        """The same question for other values of k."""
        return replace(self, at=ks)

    def metrics(self, benchmark: str) -> tuple[str, ...]:
        """`pass@1`, `pass@5` ..., the field's own names, whatever the benchmark."""
        return tuple(f"pass@{k}" for k in self.at)

    def reduce(self, trials: Sequence[Sequence[float]]) -> tuple[float | None, ...]:
        """The estimate for each k; None where k is larger than the number of trials."""
        passed = sum(1 for (value,) in trials if value >= 1.0)
        return tuple(estimate_pass_at_k(len(trials), passed, k) for k in self.at)


@dataclass(frozen=True, slots=True)
class Mean(_Averaging):
    """The mean of the trials' values.

    Attributes:
        name: name of the metric; the benchmark's own name when it is None.
        unit: of the values; see `metric.Unit`.
        higher_is_better: None: the metric is shown and not compared.
    """

    name: str | None = None
    unit: Unit = "share"
    higher_is_better: bool | None = True
    ks: ClassVar[tuple[int, ...]] = ()

    def metrics(self, benchmark: str) -> tuple[str, ...]:
        """The one metric's name."""
        return (self.name or benchmark,)

    @property
    def kind(self) -> Metric:
        """What the metric means, as it was declared."""
        return Metric(self.unit, self.higher_is_better)

    def kinds(self, benchmark: str) -> dict[str, Metric]:
        """What the metric means, as it was declared."""
        return {self.name or benchmark: self.kind}


@dataclass(frozen=True, slots=True)
class Named(_Averaging):
    """The mean of each of several values, which the benchmark function returns by name.

    Attributes:
        names: of the values; their metrics are named `BENCHMARK NAME`.
        decides: the name whose value 1.0 means that an item passes; empty where none does.
        corpus: names of metrics that no single sample has a value of, such as a perplexity: the
            benchmark's author computes them from all answers at the end.
        falls: names of values of which less is better.
        rises: names of values of which more is better; of the others a table of names decides.
        ungated: names that are shown and compared, and gated only on request.
    """

    names: tuple[str, ...]
    decides: str = ""
    corpus: tuple[str, ...] = ()
    falls: tuple[str, ...] = ()
    rises: tuple[str, ...] = ()
    ungated: tuple[str, ...] = ()
    ks: ClassVar[tuple[int, ...]] = ()

    def metrics(self, benchmark: str) -> tuple[str, ...]:
        """`gsm8k exact_match,strict-match` for benchmark `gsm8k`."""
        return tuple(f"{benchmark} {name}" for name in self.names)

    def kinds(self, benchmark: str) -> dict[str, Metric]:
        """What each metric means: its direction as it was given, its unit by its name."""
        found = {}
        for name in (*self.names, *self.corpus):
            better = name in self.rises or (False if name in self.falls else None)
            kind = known_metric(name, higher_is_better=better)
            if kind.unit == "" and better:
                kind = SHARE
            gated = kind.higher_is_better is not None and name not in self.ungated
            found[f"{benchmark} {name}"] = replace(kind, gated=gated)
        return found


@dataclass(frozen=True, slots=True)
class FirstChoice(_Averaging):
    """Was a continuation the model's first choice, and how likely was it?

    The benchmark function, called with `k` = 1, decides the first; the second is read from the
    response, a `Likelihood`. Its metric is the perplexity.

    Attributes:
        bits_per_byte: as of `TopK`.
    """

    bits_per_byte: bool = False
    ks: ClassVar[tuple[int, ...]] = (1,)  # nothing is known of the choices after the first

    def metrics(self, benchmark: str) -> tuple[str, ...]:
        """`lambada@1`, `lambada_perplexity` and `lambada_bits_per_byte` for benchmark `lambada`."""
        return (f"{benchmark}@1", *self.kinds(benchmark))

    def perplexities(self, benchmark: str) -> tuple[str, ...]:
        """The metrics whose values are log likelihoods; see `SampleValues`."""
        return (f"{benchmark}_perplexity",)

    def kinds(self, benchmark: str) -> dict[str, Metric]:
        """Neither the perplexity nor bits per byte are a share."""
        return {f"{benchmark}_perplexity": PERPLEXITY, **_bits_metric(self, f"{benchmark}_")}

    @property
    def observed(self) -> tuple[str, ...]:
        """Names of what `observe` reads."""
        return ("log_likelihood", *_bits_metric(self))

    def observe(self, response: Any, answer: str) -> tuple[float, ...]:
        """What is read from a response itself, named in `observed`."""
        return (response.logprob, *_bits_of(self, response, answer))


def _bits_metric(reducer: TopK | FirstChoice, prefix: str = "") -> dict[str, Metric]:
    """The metric of the right answer's bits per byte, where the reducer has it."""
    return {f"{prefix}bits_per_byte": BITS_PER_BYTE} if reducer.bits_per_byte else {}


def _bits_of(reducer: TopK | FirstChoice, response: Any, answer: str) -> tuple[float, ...]:
    """Its value; NaN where the response holds no likelihood of the right answer."""
    if not reducer.bits_per_byte:
        return ()
    return (bits_per_byte(getattr(response, "answer_logprob", None), answer),)


def with_bits_per_byte(reducer: Reducer) -> Reducer:
    """The reducer with the right answer's bits per byte as a further metric, where it can."""
    if isinstance(reducer, TopK | FirstChoice):
        return replace(reducer, bits_per_byte=True)
    return reducer


def observed_by(reducer: Reducer) -> tuple[str, ...]:
    """Names of what a reducer reads from a response itself; mostly none."""
    return tuple(getattr(reducer, "observed", ()))


def perplexities_of(reducer: Reducer, benchmark: str) -> tuple[str, ...]:
    """Those of a reducer's metrics that are perplexities; mostly none."""
    return tuple(reducer.perplexities(benchmark)) if hasattr(reducer, "perplexities") else ()


def kinds_of(reducer: Reducer, benchmark: str) -> dict[str, Metric]:
    """What a reducer's metrics mean; one without an entry is a share: more is better."""
    return dict(reducer.kinds(benchmark)) if hasattr(reducer, "kinds") else {}


def value_names(reducer: Reducer, benchmark: str) -> tuple[str, ...]:
    """Names of the values of one trial's outcome, in their order."""
    observed = observed_by(reducer)
    metrics = reducer.metrics(benchmark)
    return (*metrics[: len(reducer.ks) or 1], *observed) if observed else metrics


def top_k(*ks: int) -> Reducer:
    """Real@K, LAMBADA@1: was the answer among the first k? `k` is 1 and 5 by default."""
    return TopK(ks or (1, 5))


def pass_at_k(*ks: int) -> Reducer:
    """Pass@K over the trials of a problem. `k` is 1, 5 and 10 by default."""
    return PassAtK(ks or (1, 5, 10))


def mean(
    metric_name: str | None = None, *, unit: Unit = "share", higher_is_better: bool | None = True
) -> Reducer:
    """The mean of a graded or 0/1 value, under the benchmark's name or the given one.

    Args:
        unit: of the values: `share` (0 to 1), `points` (0 to 100), `bits_per_byte`, `nats`,
            `seconds`, or empty for any other.
        higher_is_better: None: it is shown and not compared.
    """
    return Mean(metric_name, unit, higher_is_better)


def first_choice() -> Reducer:
    """LAMBADA of causal models: was it the first choice, and its perplexity."""
    return FirstChoice()


def _check_ks(ks: tuple[int, ...], where: str) -> None:
    if not ks or min(ks) < 1 or len(set(ks)) < len(ks):
        raise CkptbenchError(
            f"the values of k are {', '.join(map(str, ks)) or 'missing'}",
            where=where,
            remedy="Give one or more different whole numbers from 1, such as 1 and 5.",
        )


# By the names that they have in files.
REDUCERS: Mapping[str, type[Any]] = {
    "top_k": TopK,
    "pass_at_k": PassAtK,
    "mean": Mean,
    "first_choice": FirstChoice,
    "named": Named,
}
# Those that conftests registered, which every process reads.
_REGISTERED: dict[str, type[Any]] = {}


def register_reducer(name: str, kind: type[Any]) -> None:
    """Register a reducer of your own under a name.

    Args:
        kind: a frozen dataclass that implements `Reducer`; its fields are JSON values.

    Raises:
        CkptbenchError: the name is taken, or `kind` is no dataclass.
    """
    if {**REDUCERS, **_REGISTERED}.get(name, kind) is not kind:
        raise CkptbenchError(f"a reducer named {name!r} exists", where="register_reducer")
    if not is_dataclass(kind):
        raise CkptbenchError(f"{kind.__name__} is no dataclass", where="register_reducer")
    _REGISTERED[name] = kind


def reducer(name: str) -> Callable[[Kind], Kind]:
    """Decorate a frozen dataclass as a reducer; see `register_reducer`."""

    def register(kind: Kind) -> Kind:
        register_reducer(name, kind)
        return kind

    return register


def spec_of(reducer: Reducer) -> dict[str, Any]:
    """A reducer as JSON values.

    Raises:
        CkptbenchError: its class is not registered.
    """
    for name, kind in _reducers().items():
        if type(reducer) is kind:
            return {"reducer": name, **asdict(reducer)}  # type: ignore[call-overload]
    raise CkptbenchError(
        f"{type(reducer).__name__} is not a registered reducer",
        where="score=",
        remedy="call ckptbench.register_reducer(NAME, CLASS) in a conftest",
    )


def reducer_of(spec: Mapping[str, Any]) -> Reducer:
    """The reducer that `spec_of` described."""
    fields = {n: tuple(v) if isinstance(v, list) else v for n, v in spec.items()}
    name = str(fields.pop("reducer"))
    known = _reducers()
    if name not in known:
        raise CkptbenchError(f"unknown reducer {name!r}{nearest(name, known)}")
    reducer: Reducer = known[name](**fields)
    return reducer


def _reducers() -> dict[str, type[Any]]:
    return {**contributions("pytest_ckptbench_reducers"), **_REGISTERED}
