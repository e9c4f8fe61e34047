"""What is decided for one benchmark: the command line beats the file beats the defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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


@dataclass(frozen=True, slots=True)
class Effective:
    """How one benchmark is asked.

    Attributes:
        limit: samples at most, or a share below 1 of them; None asks all.
        num_fewshot: examples before each question; None leaves it to the task.
        apply_chat_template, system_instruction, fewshot_as_multiturn, gen_kwargs: of lm-eval's
            tasks; see `options.Options`.
        batch_size: requests that an engine gets at once; 0 lets it choose.
        metrics: those that are scored; None takes all.
        timeout_s: seconds after which nothing more is asked.
        priority: small numbers run first.
        output_path: a further place for its result file.
        log_samples: whether that file lists every document.
        sources: by name, where a value was given that is no default.
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


def effective(options: Options, name: str) -> Effective | None:
    """How a benchmark or task is asked; None when the session's file leaves it out."""
    plan = options.eval_config
    sources = {
        name: source
        for name, source in options.sources.items()
        if name in ("limit", "batch_size", *OF_LM_EVAL)
    }
    values = {
        "limit": options.limit,
        "batch_size": options.batch_size or 0,
        **{each: getattr(options, each) for each in OF_LM_EVAL},
    }
    if plan is None:
        return Effective(**values, sources=sources)  # type: ignore[arg-type]
    settings = plan.of(name)
    if settings is None:
        # `--tasks` names what runs; the file then only has settings for some of it.
        typed = options.tasks and name in options.tasks
        return Effective(**values, sources=sources) if typed else None  # type: ignore[arg-type]
    stated = {
        "limit": (settings.has_limit, settings.limit),
        **{
            each: (getattr(settings, each) is not None, getattr(settings, each))
            for each in OF_LM_EVAL
        },
        "batch_size": (settings.batch_size is not None, settings.batch_size),
    }
    place = f"{plan.path}: {settings.entry}"
    for key, (has, value) in stated.items():
        if has and sources.get(key) != COMMAND_LINE:
            values[key] = value
            sources[key] = place
    for key in ("metrics", "timeout_s"):
        if getattr(settings, key) is not None:
            sources[key] = place
    return Effective(
        **values,  # type: ignore[arg-type]
        metrics=settings.metrics,
        timeout_s=settings.timeout_s,
        priority=settings.priority,
        output_path=settings.output_path,
        log_samples=settings.log_samples,
        sources=sources,
    )


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
