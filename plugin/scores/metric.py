"""What a metric's numbers mean: their unit, which direction is better, and whether it is gated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

# share: a fraction between 0 and 1, shown in per cent. points: 0 to 100, as BLEU is usually given.
Unit = Literal["share", "points", "bits_per_byte", "nats", "perplexity", "seconds", ""]


@dataclass(frozen=True, slots=True)
class Metric:
    """The declared meaning of a metric.

    Attributes:
        unit: of its values, standard errors, differences and tolerances; empty when not known.
        higher_is_better: None when not known: the metric is shown and never gated.
        gated: whether it is gated unless `--gate-on` names other metrics.
    """

    unit: Unit = "share"
    higher_is_better: bool | None = True
    gated: bool = True

    @property
    def largest(self) -> float | None:
        """The largest value there can be, the smallest being 0; None where there is none."""
        return {"share": 1.0, "points": 100.0}.get(self.unit)


SHARE = Metric()
PERPLEXITY = Metric("perplexity", higher_is_better=False)
BITS_PER_BYTE = Metric("bits_per_byte", higher_is_better=False, gated=False)
UNKNOWN = Metric("", higher_is_better=None, gated=False)

# Tolerances where none is given, in the metric's own unit.
_DEFAULT_TOLERANCE = {"share": 0.01, "points": 1.0, "bits_per_byte": 0.01, "nats": 0.01}
_RELATIVE_TOLERANCE = 0.01

# Well-known names, by the part of a metric's name that says what is measured. The values of the
# first group are fractions in most tools and 0 to 100 in some: the tool's own scale is declared
# by the reader of its files (`points`), never guessed from a value.
_UP_SHARE = (
    "acc acc_norm acc_bytes accuracy em exact exact_match f1 mcc mc1 mc2 precision recall "
    "math_verify inst_level_strict_acc inst_level_loose_acc prompt_level_strict_acc "
    "prompt_level_loose_acc"
)
_UP_POINTS = "bleu sacrebleu chrf chrf++ rouge1 rouge2 rougel rougelsum meteor"
_DOWN: dict[str, Unit] = {
    "perplexity": "perplexity",
    "ppl": "perplexity",
    "word_perplexity": "perplexity",
    "byte_perplexity": "perplexity",
    "bits_per_byte": "bits_per_byte",
    "likelihood_diff": "nats",
    "loss": "nats",
    "wer": "",
    "cer": "",
    "ter": "",
    "brier": "",
    "brier_score": "",
}


def known_metric(name: str, *, higher_is_better: bool | None = None) -> Metric:
    """What a metric of this name means, in files that do not declare it.

    A name is `TASK NAME,FILTER` or `NAME@K` or `NAME`; the task and the filter do not matter.

    Args:
        higher_is_better: what the file itself declares; it precedes the table of names.

    Returns:
        `UNKNOWN`'s direction for a name that is not in the table.
    """
    last = name.partition(",")[0].split(" ")[-1].split("/")[-1].lower()
    stem = re.sub(r"@\d+$", "@", last)
    ending = next((key for key in _DOWN if stem == key or stem.endswith(f"_{key}")), None)
    if stem in _UP_SHARE.split() or stem.endswith("@"):
        found = SHARE
    elif stem in _UP_POINTS.split():
        found = Metric("points")
    elif ending is not None:
        found = Metric(_DOWN[ending], higher_is_better=False)
    else:
        found = UNKNOWN
    if higher_is_better is None or higher_is_better == found.higher_is_better:
        return found
    return Metric(found.unit, higher_is_better)


def default_tolerance(unit: str, baseline: float = 1.0) -> float:
    """The worsening that is allowed where no tolerance is given, in the metric's unit.

    0.01 of a share, 1 of 0 to 100 points, 0.01 bits per byte or nats; of a perplexity and of
    units without a scale of their own, one hundredth of the baseline's value.
    """
    return _DEFAULT_TOLERANCE.get(unit, _RELATIVE_TOLERANCE * abs(baseline))


def wanted_among(metrics: Iterable[str], wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    """Those of a benchmark's metrics that are wanted; all of them for None.

    `acc` means every metric whose name, or whose last part before a filter, is `acc`.
    """
    if wanted is None:
        return tuple(metrics)
    return tuple(metric for metric in metrics if not spellings(metric).isdisjoint(wanted))


def spellings(metric: str) -> set[str]:
    """The names by which a metric can be wanted."""
    last = metric.rpartition(" ")[2]
    return {metric, last, last.partition(",")[0]}
