"""`--noise-floor`: some samples of a group are asked again, while its engine is still loaded.

This happens as the first of the group's fixtures is torn down: its items have been reported by
then. The second answers are evaluated as the first were. They are neither looked up in the run
store nor stored, and no score is made of them: only whether the sample's outcome flipped is kept.
With workers, each repeats samples that it has asked itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from ..api.requests import Failed, Request, Response
from ..config.options import Options
from ..results.log import LOG
from ..results.store import RunStore
from ..scores.noise import OTHER_SEED, drawn, may_flip, other_batch_size
from .answering import Answering
from .compound import answer as answer_requests
from .executions import execution_of, submit
from .group import Group
from .item import SampleItem


def ask_again(
    group: Group, session: pytest.Session, options: Options, answering: Answering, store: RunStore
) -> None:
    """Ask some of a group's samples again, and store which of them flipped.

    A sample of several trials repeats its first one. Nothing is repeated in a session that was
    stopped, or after the time limit of the group.
    """
    number = options.noise_floor
    if number is None or session.shouldfail or session.shouldstop or not may_flip(group.reducer):
        return
    first: dict[str, SampleItem] = {}
    members = [i for i in session.items if isinstance(i, SampleItem) and i.group is group]
    for item in sorted(members, key=lambda item: item.trial):
        first.setdefault(item.sample.hash, item)
    chosen = [first[name] for name in drawn(first, number, options.seed)]
    # Other items are those of another worker; an error has nothing to compare with.
    again = [
        i for i in chosen if i.outcome is not None and i.outcome.status in ("passed", "missed")
    ]
    usual = group.asked.batch_size or options.batch_size or len(members)
    if not again:
        return
    LOG.info("%s: %s samples are asked again for the noise floor", group.title, f"{len(again):,}")
    at_once = other_batch_size(usual)
    responses = answering.between_blocks(partial(_responses, answering, group, again, at_once))
    flips = _flips(group, again, responses)
    store.add_repeats(
        (item.position, group.index, flipped, at_once < usual)
        for item, flipped in zip(again, flips, strict=True)
    )


def _responses(
    answering: Answering, group: Group, items: Sequence[SampleItem], at_once: int
) -> list[Response]:
    """The second answers; a failure for those that are missing."""
    requests: list[Request] = []
    for item in items:
        context = group.context(item.trial)
        other = replace(context, seed=context.seed + OTHER_SEED)
        requests.append(group.protocol.ask(item.sample, other))
    answers: list[Response] = [Failed("the engine gave no answer")] * len(items)
    try:
        answering.check_time(group)
        engine = group.fixtures.engine
        second = answer_requests(engine, requests, at_once)
        for index, response in answering.bill.metered(engine, group.index, second):
            answers[index] = response
            answering.check_time(group)
    except Exception as error:  # the run itself is complete: only the floor is less certain
        LOG.warning("%s: asked again: %s: %s", group.title, type(error).__name__, error)
    return answers


def _flips(
    group: Group, items: Sequence[SampleItem], responses: Sequence[Response]
) -> list[bool | None]:
    """Whether each item's outcome differs now; None where there is none."""
    read = [group.read(item.sample, given) for item, given in zip(items, responses, strict=True)]
    programs = [submit(item, each) for item, each in zip(items, read, strict=True)]
    flips: list[bool | None] = []
    for item, response, program in zip(items, read, programs, strict=True):
        try:
            execution = execution_of(program) if program is not None else None
            now = item.evaluate(response, execution)
        except Exception as error:
            LOG.warning("%s: asked again: %s: %s", item.nodeid, type(error).__name__, error)
            flips.append(None)
            continue
        assert item.outcome is not None
        flips.append(None if now.status == "skipped" else now.status != item.outcome.status)
    return flips
