"""The settings of one benchmark: what options and the configuration file set together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from .._util.errors import CkptbenchError
from .._util.text import counted
from .eval_config import COMMAND_LINE, TaskSettings
from .options import Options

OF_LM_EVAL = (
    "num_fewshot",
    "apply_chat_template",
    "system_instruction",
    "fewshot_as_multiturn",
    "gen_kwargs",
)
"""Settings of `Effective` that only lm-eval's tasks have."""
_A_CHAT = "a protocol chats, such as --protocol=humaneval=chat"
_INSTEAD = {
    "num_fewshot": "the examples in a prompt are its protocol's",
    "apply_chat_template": _A_CHAT,
    "system_instruction": _A_CHAT,
    "fewshot_as_multiturn": _A_CHAT,
    "gen_kwargs": "use --temperature, --top-p or --max-tokens",
}
# Settings that are options too: the command line precedes the file.
_OPTIONS = ("limit", *OF_LM_EVAL, "batch_size")


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
        data: the benchmark's data file; None takes what it comes with.
        sources: by name, where a value other than the default was given.
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
    data: Path | None = None
    sources: Mapping[str, str] = field(default_factory=dict)


def effective(options: Options, name: str) -> Effective | None:
    """The settings of a benchmark or task; None when the session's file leaves it out."""
    sources = {key: options.sources[key] for key in _OPTIONS if key in options.sources}
    values = {key: getattr(options, key) for key in _OPTIONS}
    values |= {"batch_size": options.batch_size or 0, "data": options.data.get(name)}
    found = Effective(**values, sources=sources)
    plan = options.eval_config
    settings = plan.of(name) if plan is not None else None
    if plan is None or settings is None:
        # `--tasks` names what runs; the file then only has settings for some of it.
        return found if plan is None or name in options.tasks else None
    typed = {key for key, source in sources.items() if source == COMMAND_LINE}
    if name in options.data:
        own = options.sources.get(f"{name}_data", options.sources.get("data"))
        typed |= {"data"} if own == COMMAND_LINE else set()
    decided = {k: v for k, v in settings.values.items() if k not in typed}
    recorded = [key for key in (*_OPTIONS, "metrics", "timeout_s") if key in decided]
    sources |= dict.fromkeys(recorded, f"{plan.path}: {settings.entry}")
    return replace(found, **{"priority": settings.priority, **decided}, sources=sources)


def refuse_of_lm_eval(entries: Iterable[TaskSettings], others: Collection[str], path: str) -> None:
    """Refuse settings of lm-eval's tasks for benchmarks, which would ignore them.

    Args:
        entries: of a configuration file.
        others: names of benchmarks that are not tasks of lm-eval.
        path: of the file.

    Raises:
        CkptbenchError: naming each setting. Those that change nothing, such as false, are left.
    """
    mistakes = [
        f"{entry.entry}.{key}: of lm-eval tasks only, and {name} is none; {_INSTEAD[key]}"
        for entry in entries
        for name in entry.names
        if name in others
        for key in OF_LM_EVAL
        if entry.values.get(key)
    ]
    if mistakes:
        count = counted(len(mistakes), "mistake")
        raise CkptbenchError("\n  ".join([f"{count}:", *mistakes]), where=path)
