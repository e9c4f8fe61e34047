"""Reducers by name, so that whoever folds the outcomes need not have collected the benchmark.

With pytest-xdist the process that folds never imports the benchmark modules; it gets a reducer as
its name and fields. A reducer of one's own is registered in a conftest, which every process reads.
"""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any

from .._util.errors import CkptbenchError, nearest
from .reducers import FirstChoice, Mean, Named, PassAtK, TopK
from .score import Reducer

_BY_NAME: dict[str, type[Any]] = {
    "top_k": TopK,
    "pass_at_k": PassAtK,
    "mean": Mean,
    "first_choice": FirstChoice,
    "named": Named,
}


def register_reducer(name: str, kind: type[Any]) -> None:
    """Make a reducer of one's own known by a name.

    Args:
        kind: a frozen dataclass that implements `Reducer`; its fields are JSON values.

    Raises:
        CkptbenchError: the name is taken, or `kind` is no dataclass.
    """
    if _BY_NAME.get(name, kind) is not kind:
        raise CkptbenchError(f"a reducer named {name!r} exists", where="register_reducer")
    if not is_dataclass(kind):
        raise CkptbenchError(f"{kind.__name__} is no dataclass", where="register_reducer")
    _BY_NAME[name] = kind


def spec_of(reducer: Reducer) -> dict[str, Any]:
    """A reducer as JSON values.

    Raises:
        CkptbenchError: its class is not registered.
    """
    for name, kind in _BY_NAME.items():
        if type(reducer) is kind:
            return {"reducer": name, **asdict(reducer)}  # type: ignore[call-overload]
    raise CkptbenchError(
        f"{type(reducer).__name__} is not a registered reducer",
        where="score=",
        remedy="call ckptbench.register_reducer(NAME, CLASS) in a conftest",
    )


def reducer_of(spec: dict[str, Any]) -> Reducer:
    """The reducer that `spec_of` described."""
    fields = {n: tuple(v) if isinstance(v, list) else v for n, v in spec.items()}
    name = str(fields.pop("reducer"))
    if name not in _BY_NAME:
        raise CkptbenchError(f"unknown reducer {name!r}{nearest(name, _BY_NAME)}")
    reducer: Reducer = _BY_NAME[name](**fields)
    return reducer
