"""What a configuration file holds. pydantic reads it; unknown keys and wrong types are errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
)

from .gen_kwargs import checked_gen_kwargs


def _one(what: str, fits: Callable[[Any], bool]) -> PlainValidator:
    """Checks a value that may have one of several forms, and tells all of them in one line."""

    def check(value: Any) -> Any:
        if not fits(value):
            raise ValueError(what)
        return value

    return PlainValidator(check)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _names(value: Any) -> bool:
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text for text in texts)


_Rows = Annotated[
    int | Literal["auto"] | None,
    _one(
        "a whole number of at least 1, or 'auto'",
        lambda value: value is None or value == "auto" or _count(value),
    ),
]
_Limit = Annotated[
    int | float | None,
    _one(
        "a number of samples such as 200, a share between 0 and 1 such as 0.2, or null",
        lambda value: value is None or _count(value) or (_positive(value) and value < 1),
    ),
]
_Seconds = Annotated[
    float | None,
    _one("a number of seconds above 0", lambda value: value is None or _positive(value)),
]
_Names = Annotated[
    list[str] | str | None,
    _one("a name, or a list of names", lambda value: value is None or _names(value)),
]


_Template = Annotated[
    bool | str | None,
    _one(
        "true, false, or the name of a chat template",
        lambda value: (
            value is None or isinstance(value, bool) or (isinstance(value, str) and value)
        ),
    ),
]


def _generating(value: Any) -> str | None:
    """Settings of generating in the form that options have them in: as JSON."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError('an object such as {"temperature": 0.6, "do_sample": true}')
    try:
        return checked_gen_kwargs(value)
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"settings that are obeyed ({error})") from None


_GenKwargs = Annotated[str | None, PlainValidator(_generating)]


def _form(value: Any) -> str | None:
    if isinstance(value, list):
        return "list"
    return "object" if isinstance(value, dict) else None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BenchmarkEntry(_Strict):
    """A benchmark of the suite, or a name for several tasks.

    Attributes:
        enabled: whether it runs.
        description: for people.
        tasks: entries of `tasks`, benchmarks of the suite, or names of lm-eval tasks; empty for a
            benchmark of the suite itself.
    """

    enabled: StrictBool = True
    description: StrictStr = ""
    tasks: list[StrictStr] = Field(default_factory=list)


class TaskEntry(_Strict):
    """Settings of a task, or of several that are asked alike.

    Attributes:
        enabled: whether it runs.
        tasks: names of lm-eval tasks, groups or tags; without them, the entry's own name.
        num_fewshot: examples before each question.
        batch_size: rows of a batch at most; `auto` lets the engine choose.
        limit: samples at most, or a share below 1; null asks all of them.
        description: for people.
        metrics: those that are scored and gated; null takes all.
        output_path: a further place for the result file in lm-eval's shape.
        log_samples: whether that file lists every document.
        priority: small numbers run first.
        timeout: seconds after which the task is asked nothing more.
        apply_chat_template: whether prompts go through the checkpoint's chat template; a text
            names one of several.
        system_instruction: what the system says before everything else.
        fewshot_as_multiturn: whether examples are turns of their own.
        gen_kwargs: settings of generating that take the place of the task's own.
    """

    enabled: StrictBool = True
    tasks: _Names = None
    num_fewshot: Annotated[StrictInt, Field(ge=0)] | None = None
    batch_size: _Rows = None
    limit: _Limit = None
    description: StrictStr = ""
    metrics: list[StrictStr] | None = None
    output_path: StrictStr | None = None
    log_samples: StrictBool = False
    priority: StrictInt | None = None
    timeout: _Seconds = None
    apply_chat_template: _Template = None
    system_instruction: StrictStr | None = None
    fewshot_as_multiturn: StrictBool | None = None
    gen_kwargs: _GenKwargs = None


class EvalConfig(_Strict):
    """The whole file.

    Attributes:
        benchmarks: by name, or a list of the names that run; without it, every task runs.
        tasks: by name.
    """

    benchmarks: (
        Annotated[
            Annotated[dict[StrictStr, BenchmarkEntry], Tag("object")]
            | Annotated[list[StrictStr], Tag("list")],
            Discriminator(_form),
        ]
        | None
    ) = None
    tasks: dict[StrictStr, TaskEntry] = Field(default_factory=dict)
