"""Provisional."""

from math import sqrt

from ..scores.intervals import cluster_standard_error, t_interval


def newcombe_interval(now, now_n, then, then_n):
    d = now - then
    e = 1.96 * sqrt((now * (1 - now) + 0.25) / now_n + (then * (1 - then) + 0.25) / then_n)
    return (d - e, d + e)


def paired_difference_interval(now, then, groups, kind=""):
    e = cluster_standard_error(now - then, groups)
    return (
        None if e is None else t_interval(float((now - then).mean()), e, groups.degrees_of_freedom)
    )


def interval_kind(score):
    return ""


def composite_difference_interval(parts):
    return None
