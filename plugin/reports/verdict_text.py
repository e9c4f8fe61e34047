"""Verdicts as text, made of their figures, in the reader's language."""

from __future__ import annotations

from .._util.language import is_english, stored, tr
from .._util.text import count, probability
from ..gate.units import size
from ..gate.verdict import Comparison, Verdict


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
        parts.append(_sensitivity(figures))
    return ", ".join(parts)


def _not_tested(figures: Comparison) -> str:
    if figures.kind == "point":
        return tr("not tested: the baseline gives neither n nor standard error")
    return tr("not tested: one side has no standard error")


def _sensitivity(figures: Comparison) -> str:
    at = "" if figures.n is None else f" (n = {count(figures.n)})"
    if figures.mde is None:
        return tr("no drop would be found here") + at
    return tr("MDE {size}", size=size(figures.mde, figures.unit)) + at
