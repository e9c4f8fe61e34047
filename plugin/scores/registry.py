"""Reducers by name, so that whoever folds the outcomes need not have collected the benchmark.

With pytest-xdist the process that folds never imports the benchmark modules; it gets a reducer as
its name and fields. Reducers of one's own are contributed by `pytest_ckptbench_reducers`, or
registered in a conftest, which every process reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

from .._util.errors import CkptbenchError, nearest
from .._util.extensions import contributions
from .reducers import REDUCERS
from .score import Reducer

_REGISTERED: dict[str, type[Any]] = {}
Kind = TypeVar("Kind", bound=type[Any])


def register_reducer(name: str, kind: type[Any]) -> None:
    """Make a reducer of one's own known by a name.

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
