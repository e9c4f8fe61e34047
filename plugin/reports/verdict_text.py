"""Verdicts as text, made of their figures, in the reader's language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._util.language import is_english, stored, tr
from .._util.text import count, probability
from ..gate.units import size
from ..gate.verdict import Comparison, Verdict

_NOT_FOUND = re.compile(r"a (drop|rise) of (.+?) would not have been found")


def verdict_p(verdict: Verdict | None) -> str:
    """The p that a verdict used, by its name: `p worse, Holm = 0.0312`; empty without one."""
    if verdict is None or verdict.p_adjusted is None:
        return ""
    p = probability(verdict.p_adjusted).removeprefix("p ")
    if verdict.word == "improved":
        return tr("p better, Holm {p}", p=p)
    return tr("p worse, Holm {p}", p=p)


def detail_of(verdict: Verdict) -> str:
    """Why a verdict was given: the sentence it is stored with, in other languages of its figures.

    Verdicts that were not tested have no figures, and `unchanged` needs no reason.
    """
    figures = verdict.comparison
    if is_english() or figures is None or verdict.word not in ("regressed", "inconclusive"):
        return stored(verdict.detail)
    by = size(figures.difference, figures.unit)
    moved = tr("no difference")
    if figures.improvement:
        moved = (
            tr("worse by {by}", by=by) if figures.improvement < 0 else tr("better by {by}", by=by)
        )
    allowed = tr("tolerance {size}", size=size(verdict.tolerance, figures.unit))
    fell = -figures.improvement > verdict.tolerance
    parts = [moved, *([allowed] if fell else [])]
    if verdict.word == "regressed" and figures.lost is not None and figures.won is not None:
        n = count(figures.n or 0)
        parts.append(
            tr("{lost} lost and {won} won of {n}", lost=figures.lost, won=figures.won, n=n)
        )
    parts.append(verdict_p(verdict) or _not_tested(figures))
    if verdict.word == "inconclusive" and verdict.p_adjusted is not None:
        parts += [*_not_found(verdict), _sensitivity(figures)]
    return ", ".join(parts)


def _not_tested(figures: Comparison) -> str:
    if figures.kind == "point":
        return tr("not tested: the baseline gives neither n nor standard error")
    return tr("not tested: one side has no standard error")


def _not_found(verdict: Verdict) -> Iterator[str]:
    """The change that the comparison was to find, where that is why nothing is concluded."""
    if found := _NOT_FOUND.search(verdict.detail):
        if found[1] == "drop":
            yield tr("a drop of {size} would not have been found", size=found[2])
        else:
            yield tr("a rise of {size} would not have been found", size=found[2])


def _sensitivity(figures: Comparison) -> str:
    at = "" if figures.n is None else f" (n = {count(figures.n)})"
    if figures.mde is None:
        return tr("this comparison could not detect a drop of any size") + at
    return tr("MDE {size}", size=size(figures.mde, figures.unit)) + at
