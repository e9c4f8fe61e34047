"""The noise floor: how many samples come out otherwise when the same model is asked once more.

Rounding in batches of other shapes, and the seed where answers are drawn, turn some outcomes
round. No comparison of this model can be finer than that.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from .intervals import share_interval
from .noise import NoiseFloor
from .reducers import Named
from .score import Reducer

# Far from the seeds that somebody gives a row of runs.
OTHER_SEED = 1_000_003
_AT_ONCE = 7
_ROUNDED = ("bf16", "fp16")


def noise_floor(repeats: Iterable[tuple[bool | None, bool]]) -> NoiseFloor | None:
    """The floor, from samples that were asked again.

    Args:
        repeats: `(flipped, other batch size)` of each; None for one without a second answer.

    Returns:
        None when no sample was asked again.
    """
    held = list(repeats)
    if not held:
        return None
    known = [flipped for flipped, _ in held if flipped is not None]
    n, flipped = len(known), sum(known)
    interval = share_interval(flipped / n, n) if n else None
    other = any(batch for _, batch in held)
    return NoiseFloor(n, flipped, interval, len(held) - n, other)


def may_flip(reducer: Reducer) -> bool:
    """Whether samples can be missed at all: where only values are given, every answer passes."""
    return not (isinstance(reducer, Named) and not reducer.decides)


def floor_notes(
    groups: Sequence[tuple[str, Reducer, Sequence[object]]],
    settings: Mapping[str, object],
    temperature: float,
    number: int | None,
) -> tuple[str, ...]:
    """Sentences on the floors of one checkpoint that are not known and matter.

    Args:
        groups: of each benchmark: its protocol, its reducer, and the samples asked again.
        settings: of the engine; `dtype` is looked at.
        number: how many samples were to be asked again; None when that was not asked for.
    """
    lacking = [(protocol, reducer) for protocol, reducer, repeats in groups if not repeats]
    if number is not None:
        no_miss = "an answer gives values and is never missed"
        return tuple(
            f"{protocol}: noise floor not measured: "
            + ("no sample was asked again" if may_flip(reducer) else no_miss)
            for protocol, reducer in lacking
        )
    dtype = settings.get("dtype")
    # Where answers are drawn, the draw is the larger part and several trials show it.
    if dtype not in _ROUNDED or temperature or not any(may_flip(reducer) for _, reducer in lacking):
        return ()
    return (
        f"{dtype} rounds differently in batches of other sizes; how many outcomes that flips was "
        "not measured: --noise-floor=100 asks 100 samples of each benchmark again",
    )


def drawn(samples: Iterable[str], number: int, seed: int) -> list[str]:
    """`number` of the samples at random, or all where there are fewer.

    The choice depends on which samples there are and on the seed, not on their order.
    """
    known: Sequence[str] = sorted(set(samples))
    return random.Random(f"noise floor {seed}").sample(known, min(number, len(known)))


def other_batch_size(usual: int) -> int:
    """Requests that an engine gets at once the second time.

    Args:
        usual: how many it got at once the first time, at most.
    """
    return max(1, min(_AT_ONCE, usual // 2))
