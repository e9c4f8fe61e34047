"""Which benchmarks and tasks run with which settings: command line, then file, then defaults.

These are plain values, so that options can hold a configuration file without loading pydantic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._util.errors import CkptbenchError, nearest
from ..scores.metric import _spellings

if TYPE_CHECKING:
    from .options import Options

COMMAND_LINE = "command line"
# What only lm-eval's tasks know.
OF_LM_EVAL = (
    "num_fewshot",
    "apply_chat_template",
    "system_instruction",
    "fewshot_as_multiturn",
    "gen_kwargs",
)
"""Settings of `Effective` that only lm-eval's tasks have."""
# Settings that the command line has as well, and so decides.
_OPTIONS = ("limit", *OF_LM_EVAL, "batch_size")
# The benchmarks that come with the suite: in a configuration file their names mean them, and not
# tasks of lm-eval.
SHIPPED = ("real", "lambada", "humaneval", "mbpp", "codecontests", "problems")
"""Names of the benchmarks of the suite."""
_SECTIONS = ("benchmarks", "tasks")
# Without a priority of its own, a task runs after those that have one.
NO_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings of one benchmark.

    Attributes:
        limit: samples at most, or a share below 1 of them; None takes all.
        num_fewshot: few-shot examples per prompt; None leaves it to the task.
        apply_chat_template, system_instruction, fewshot_as_multiturn, gen_kwargs: of lm-eval's
            tasks; see `options.Options`.
        batch_size: requests that an engine gets at once; 0 lets it choose.
        metrics: those that are scored; None takes all.
        timeout_s: seconds after which no further request is made.
        priority: small numbers run first.
        output_path: a further file or folder for its results.
        log_samples: whether that file lists every document.
        sources: by name, where a value that is no default was given.
    """

    limit: int | float | None = None
    num_fewshot: int | None = None
    apply_chat_template: bool | str = False
    system_instruction: str = ""
    fewshot_as_multiturn: bool | None = None
    gen_kwargs: str = ""
    batch_size: int = 0
    metrics: tuple[str, ...] | None = None
    timeout_s: float | None = None
    priority: int = 0
    output_path: str = ""
    log_samples: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """What a configuration file says of one entry.

    Attributes:
        entry: its key in the file, such as `tasks.gsm8k`.
        names: benchmarks of the suite or lm-eval tasks that it means.
        values: what the file decides, by the names that `Effective` has.
    """

    entry: str
    names: tuple[str, ...]
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def priority(self) -> int:
        """Small numbers run first."""
        return int(self.values.get("priority", NO_PRIORITY))


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of `--list-benchmarks`.

    Attributes:
        tasks: what it runs; its own name for a benchmark of the suite.
    """

    name: str
    enabled: bool
    tasks: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class EvalPlan:
    """A configuration file, read and checked.

    Attributes:
        path: the file.
        settings: of everything that runs, in running order.
        listed: every benchmark of the file, also those that do not run.
        idle: settings of what does not run.
        notes: what the reader must know, such as tasks that no benchmark names.
    """

    path: str
    settings: tuple[TaskSettings, ...]
    listed: tuple[Listed, ...]
    notes: tuple[str, ...] = ()
    idle: tuple[TaskSettings, ...] = ()

    def of(self, name: str) -> TaskSettings | None:
        """The settings of a benchmark or task; None when it does not run."""
        return next((each for each in self.settings if name in each.names), None)

    def asked_by(self, benchmark: Listed) -> frozenset[str]:
        """Names of what a listed benchmark runs."""
        entries = {f"{section}.{task}" for task in benchmark.tasks for section in _SECTIONS}
        running = [each for each in self.settings if benchmark.enabled and each.entry in entries]
        return frozenset(name for each in running for name in each.names)


def effective(options: Options, name: str) -> Effective | None:
    """The settings of a benchmark or task; None when the session's file leaves it out."""
    sources = {key: options.sources[key] for key in _OPTIONS if key in options.sources}
    values = {key: getattr(options, key) for key in _OPTIONS}
    found = Effective(**{**values, "batch_size": options.batch_size or 0}, sources=sources)
    plan = options.eval_config
    settings = plan.of(name) if plan is not None else None
    if plan is None or settings is None:
        # `--tasks` names what runs; the file then only has settings for some of it.
        return found if plan is None or name in options.tasks else None
    decided = {k: v for k, v in settings.values.items() if sources.get(k) != COMMAND_LINE}
    recorded = [key for key in (*_OPTIONS, "metrics", "timeout_s") if key in decided]
    sources |= dict.fromkeys(recorded, f"{plan.path}: {settings.entry}")
    return replace(found, **{"priority": settings.priority, **decided}, sources=sources)


def check_wanted(metrics: Iterable[str], wanted: Iterable[str], where: str) -> None:
    """Refuse wanted metrics that no benchmark of an entry has.

    Raises:
        CkptbenchError: naming them.
    """
    known = list(dict.fromkeys(metrics))
    spellings = {spelling for metric in known for spelling in _spellings(metric)}
    wrong = [name for name in wanted if name not in spellings]
    if wrong:
        raise CkptbenchError(
            f"no metric {', '.join(map(repr, wrong))}{nearest(wrong[0], sorted(spellings))}",
            where=where,
            remedy=f"metrics: {'; '.join(known)}",
        )
