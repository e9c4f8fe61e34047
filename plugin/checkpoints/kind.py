"""Kinds of checkpoints: how each is recognised, whether one is complete, and what loads it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._util.extensions import contributions
from .complete import missing_parts

if TYPE_CHECKING:
    from ..config.options import Options

ModelKind = Literal["masked", "causal"]
"""What a model was trained for: filling masks, or continuing text."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was found, not yet loaded.

    Attributes:
        spec: what was given as `--checkpoint`.
        path: the folder or file, absolute; `Path()` for what is not on this machine's disk.
        kind: what it is, and what loads it.
    """

    spec: str
    path: Path
    kind: CheckpointKind

    @property
    def model_kind(self) -> ModelKind:
        """Whether it is a masked or a causal language model.

        Raises:
            CkptbenchError: its files are unreadable, or of a model that is neither.
        """
        return self.kind.model_kind(self)


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a checkpoint is to be loaded.

    Attributes:
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        dtype: `auto` (bf16 on a GPU, fp32 on a CPU), `bf16`, `fp16` or `fp32`.
        seq_len: tokens of a model input at most, or `auto`: as the checkpoint states.
        tokenizer: the folder of the tokenizer, where it is not the checkpoint's own.
        attention: transformers' name of the implementation; empty lets it choose.
        base: for a kind that has a `base`: the loaded base checkpoint.
        trusted: the one folder whose Python code may run, resolved; None: none may.
        session: all options of the session; None outside of one.
        add_note: takes a sentence for the readers of the scores; outside of a session nobody does.
    """

    device: str = "auto"
    dtype: str = "auto"
    seq_len: int | Literal["auto"] = "auto"
    tokenizer: Path | None = None
    attention: str = ""
    base: Any = None
    trusted: Path | None = None
    session: Options | None = None
    add_note: Callable[[str], None] = lambda note: None


@dataclass(frozen=True, slots=True)
class CheckpointKind:
    """One kind of checkpoint.

    Attributes:
        name: such as `huggingface`; unique.
        description: how a user would recognise it, for the error that lists what is accepted.
        matches: whether an existing path holds one.
        load: a context manager whose value answers: what `ckptbench.loaded` returns, or an
            `Engine`. Its end frees what it holds.
        model_kind: whether a checkpoint is a masked or a causal language model, as far as its
            files tell without loading it.
        missing: what a path still lacks to be complete, as one clause, judged by its files alone;
            empty when it is complete. `ckptbench watch` waits for that.
        path_of: the path of a spec that is none itself, such as an address; None for any other.
        base: spec of the base checkpoint of an adapter; it is loaded once for several.
        needs: packages without which none is loaded.
        remedy: how to install them.
        check: raises a `CkptbenchError` where its files, or its server, show that a checkpoint
            cannot be loaded; no weight is read. Called for each of several, before anything is
            asked.
    """

    name: str
    description: str
    matches: Callable[[Path], bool]
    load: Callable[[Checkpoint, LoadOptions], AbstractContextManager[Any]]
    model_kind: Callable[[Checkpoint], ModelKind] = lambda checkpoint: "causal"
    missing: Callable[[Path], str] = missing_parts
    path_of: Callable[[str], Path | None] = lambda spec: None
    base: Callable[[Checkpoint], str] | None = None
    needs: tuple[str, ...] = ()
    remedy: str = ""
    check: Callable[[Checkpoint, LoadOptions], None] = lambda checkpoint, options: None


def checkpoint_kinds() -> tuple[CheckpointKind, ...]:
    """Every kind there is, the suite's first."""
    return tuple(contributions("pytest_ckptbench_checkpoint_kinds").values())


def kind_at(path: Path) -> CheckpointKind | None:
    """The kind of what an existing path holds; None for what is no checkpoint.

    A plugin's kind may be a special case of one of the suite's, so it is tried first.
    """
    return next((kind for kind in reversed(checkpoint_kinds()) if kind.matches(path)), None)


def why_incomplete(checkpoint: Path) -> str:
    """What a checkpoint still lacks, as one clause; empty when it is complete.

    A file that disappears meanwhile counts as missing.
    """
    try:
        kind = kind_at(checkpoint)
        return kind.missing(checkpoint) if kind is not None else missing_parts(checkpoint)
    except OSError as error:
        return f"{Path(error.filename or checkpoint).name} cannot be read: {error.strerror}"
