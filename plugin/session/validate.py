"""Whether a configuration file fits what was collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError, nearest
from ..api.tasks import suite_benchmarks
from ..config.eval_config import EvalPlan, check_wanted

if TYPE_CHECKING:
    from .group import Group


def check_names(
    plan: EvalPlan,
    collected: Collection[str],
    tasks: Callable[[], Iterable[str]],
    *,
    idle_too: bool,
) -> None:
    """Refuse a file that names what no collected module asks.

    Args:
        collected: names of the benchmarks that were collected.
        tasks: gives the names of lm-eval's tasks, which takes seconds: only called when needed.
        idle_too: whether what does not run has to be right as well.

    Raises:
        CkptbenchError: naming each entry and the nearest known name.
    """
    checked = (*plan.settings, *(plan.idle if idle_too else ()))
    entry_of = {name: settings.entry for settings in checked for name in settings.names}
    unknown = entry_of.keys() - set(collected)
    suite = suite_benchmarks() if unknown else frozenset()
    unknown -= suite
    if not unknown:
        return
    theirs = list(tasks())
    known = sorted({*collected, *suite, *theirs})
    wrong = [
        f"{entry_of[name]} names {name!r}{nearest(name, known)}"
        for name in sorted(unknown.difference(known))
    ]
    if wrong:
        remedy = "`lm_eval ls tasks` lists lm-eval's tasks; --include-path=DIR adds yours"
        raise CkptbenchError(
            "no benchmark that was collected and no task of lm-eval: " + "; ".join(wrong),
            where=plan.path,
            remedy=remedy if theirs else "lm-eval's tasks need pip install 'ckptbench[lm-eval]'",
        )


def check_metrics(groups: Iterable[Group]) -> None:
    """Refuse a file that wants metrics which none of an entry's benchmarks has.

    Raises:
        CkptbenchError: naming them.
    """
    asked: dict[str, list[Group]] = {}
    for group in groups:
        if group.asked.metrics is not None:
            asked.setdefault(group.asked.sources["metrics"], []).append(group)
    for place, members in asked.items():
        metrics = [metric for group in members for metric in group.all_metrics]
        check_wanted(metrics, members[0].asked.metrics or (), f"{place}.metrics")
