"""Requests in the background: those that are given up are cancelled, whatever they wait for."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from ckptbench.fixtures.endpoints.background import Background


def test_jobs_that_are_given_up_are_cancelled_and_no_further_one_begins() -> None:
    begun: list[int] = []
    cancelled: list[int] = []
    under_way = threading.Event()

    async def forever(number: int) -> int:
        begun.append(number)
        if len(begun) == 2:
            under_way.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return number

    background = Background()
    try:
        stream = background.stream([lambda n=n: forever(n) for n in range(5)], at_once=2)  # type: ignore[misc]
        giving_up = threading.Thread(target=lambda: under_way.wait(60) and background.give_up())
        giving_up.start()
        with pytest.raises(CancelledError):
            list(stream)
        giving_up.join()
    finally:
        background.close()
    assert sorted(cancelled) == begun == [0, 1]


def test_what_was_given_up_before_a_stream_began_ends_it_too() -> None:
    async def forever() -> None:
        await asyncio.sleep(3600)

    background = Background()
    try:
        background.give_up()
        with pytest.raises(CancelledError):
            list(background.stream([forever], at_once=1))
    finally:
        background.close()
