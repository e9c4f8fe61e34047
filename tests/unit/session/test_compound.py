"""Requests of several parts: the engine sees single ones, the sample gets all of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from ckptbench.api.requests import (
    CompoundRequest,
    CompoundResponse,
    Failed,
    Likelihood,
    LogLikelihood,
    Request,
    Response,
    Skipped,
)
from ckptbench.session import compound as several

Given = dict[str, Response]


class Backwards:
    """Answers in the opposite order; a continuation says with how much, or what goes wrong."""

    def __init__(self, **given: Response) -> None:
        self.given = given
        self.calls: list[int] = []

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        self.calls.append(len(requests))
        for index in reversed(range(len(requests))):
            request = requests[index]
            assert isinstance(request, LogLikelihood)
            yield index, self.given.get(request.continuation) or likely(request.continuation)


def likely(continuation: str) -> Likelihood:
    return Likelihood(-float(len(continuation)), False, len(continuation))


def asked(*continuations: str) -> CompoundRequest:
    return CompoundRequest(tuple(LogLikelihood("", text) for text in continuations))


def answers(
    requests: Sequence[Request], engine: Backwards | None = None, at_once: int = 0
) -> dict[int, Response]:
    found = list(several.answer(engine or Backwards(), requests, at_once))  # type: ignore[arg-type]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_each_gets_its_answers_in_the_order_of_its_parts() -> None:
    found = answers([asked("a", "bb"), LogLikelihood("", "ccc"), asked("dddd")])
    assert found == {
        0: CompoundResponse((likely("a"), likely("bb"))),
        1: likely("ccc"),
        2: CompoundResponse((likely("dddd"),)),
    }


def test_all_parts_share_one_call_so_that_they_share_batches() -> None:
    engine = Backwards()
    answers([asked("a", "b"), asked("c", "d", "e")], engine)
    assert engine.calls == [5]


@pytest.mark.parametrize(("at_once", "calls"), [(1, [1] * 5), (2, [2, 2, 1]), (99, [5])])
def test_the_engine_gets_no_more_at_once_than_it_may(at_once: int, calls: list[int]) -> None:
    engine = Backwards()
    requests = [asked("a", "bb"), asked("ccc", "d", "e")]
    assert answers(requests, engine, at_once) == answers(requests)
    assert engine.calls == calls


def test_single_requests_are_portioned_as_well() -> None:
    engine = Backwards()
    requests = [LogLikelihood("", text) for text in ("a", "bb", "ccc")]
    assert answers(requests, engine, 2) == {0: likely("a"), 1: likely("bb"), 2: likely("ccc")}
    assert engine.calls == [2, 1]


def test_a_part_without_an_answer_leaves_the_whole_without_one() -> None:
    failed = Failed("out of memory")
    found = answers([asked("a", "b"), asked("c", "d")], Backwards(b=failed))
    assert found[0] == failed
    assert found[1] == CompoundResponse((likely("c"), likely("d")))


def test_a_failure_weighs_more_than_a_part_that_is_skipped() -> None:
    engine = Backwards(a=Skipped("too_long"), b=Failed("broke"))
    assert answers([asked("a", "b"), asked("a", "c")], engine) == {
        0: Failed("broke"),
        1: Skipped("too_long"),
    }


def test_nothing_asked_is_answered_with_nothing() -> None:
    assert answers([CompoundRequest(()), asked("a")]) == {
        0: CompoundResponse(()),
        1: CompoundResponse((likely("a"),)),
    }


class Confused:
    def __init__(self, *places: int) -> None:
        self.places = places

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        yield from ((place, likely("x")) for place in self.places)


@pytest.mark.parametrize(("places", "why"), [((0, 0), "0 twice"), ((5,), "5 of 2")])
def test_an_engine_that_mixes_up_its_answers_is_caught(places: tuple[int, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        list(several.answer(Confused(*places), [asked("a", "b")]))
