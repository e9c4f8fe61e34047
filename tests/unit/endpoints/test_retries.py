"""When a failed request is sent again, and how many are sent at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from ckptbench.fixtures.endpoints.pace import Pace
from ckptbench.fixtures.endpoints.retries import Patience, Transient, Tries


@dataclass
class Server:
    """What is known of one."""

    patience: Patience
    is_there: bool = True
    answers: int = 0


def failed(error: Transient) -> Any:
    return SimpleNamespace(outcome=SimpleNamespace(exception=lambda: error))


def counted(tries: Tries, error: Transient) -> tuple[float, bool]:
    state = failed(error)
    tries.count(state)
    return tries.wait_s(state), tries.are_enough(state)


@pytest.mark.parametrize("asked_s", [0.0, 3.0])
def test_each_wait_is_twice_as_long_and_not_shorter_than_asked(asked_s: float) -> None:
    tries = Tries(Server(Patience(retries=3, first_wait_s=1.0, longest_wait_s=4.0)))
    found = [counted(tries, Transient("busy", asked_s, limited=True)) for _ in range(4)]
    for (wait_s, _), doubled in zip(found, (1.0, 2.0, 4.0, 4.0), strict=True):
        least = max(doubled, asked_s)
        assert least <= wait_s <= least + 1.0
    assert [enough for _, enough in found] == [False, False, False, True]


@pytest.mark.parametrize(("limited", "enough"), [(True, False), (False, True)])
def test_a_limit_on_requests_is_no_failure_while_others_are_answered(
    limited: bool, enough: bool
) -> None:
    server = Server(Patience(retries=1))
    tries = Tries(server)
    counted(tries, Transient("busy", limited=limited))
    server.answers += 1
    assert counted(tries, Transient("busy", limited=limited))[1] is enough
    assert counted(tries, Transient("busy", limited=limited))[1]


def test_fewer_requests_are_under_way_until_answers_come() -> None:
    pace = Pace(16)
    for _ in range(6):
        pace.slow_down()
    assert pace.limit == 1.0
    pace.speed_up()
    assert pace.limit == 2.0
    for _ in range(1000):
        pace.speed_up()
    assert pace.limit == 16.0


def test_no_more_are_under_way_than_the_pace_allows() -> None:
    most = 0

    async def send(pace: Pace, under_way: list[int]) -> None:
        nonlocal most
        async with pace.turn():
            under_way.append(1)
            most = max(most, len(under_way))
            await asyncio.sleep(0)
            under_way.pop()

    async def send_all() -> None:
        pace = Pace(4)
        pace.slow_down()
        under_way: list[int] = []
        await asyncio.gather(*(send(pace, under_way) for _ in range(10)))

    asyncio.run(send_all())
    assert most == 2
