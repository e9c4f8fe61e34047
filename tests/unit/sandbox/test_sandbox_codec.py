"""Values travel as data: plain ones unchanged, everything else as a handle or not at all."""

from __future__ import annotations

import datetime
import math
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from ckptbench.fixtures.sandbox.codec import Unsendable, decode, dumps, encode, loads


def _no_object(value: Any) -> Any:
    raise AssertionError(f"{value!r} is data")


def travelled(value: Any) -> Any:
    return decode(loads(dumps(encode(value, _no_object))), _no_object, _no_object)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(10**30),
        2**63,
        1.5,
        math.inf,
        "text \ud800 \U0001f600",
        b"\x00\xff",
        bytearray(b"ab"),
        1 + 2j,
        [],
        [1, [2.0, "x"]],
        (1, (2,)),
        {1: "a", (2, 3): [4], None: {}},
        {1, 2},
        frozenset({1}),
        range(3, 9, 2),
        slice(1, None),
        deque([1, 2]),
        Fraction(1, 3),
        Decimal("1.10"),
        datetime.datetime(2020, 1, 2, 3, 4, 5),
        datetime.date(2020, 1, 2),
        datetime.timedelta(days=1, microseconds=2),
        Counter("aab"),
        OrderedDict([("b", 1), ("a", 2)]),
        int,
        ...,
    ],
    ids=repr,
)
def test_plain_values_arrive_as_they_were(value: Any) -> None:
    arrived = travelled(value)
    assert arrived == value
    assert type(arrived) is type(value)


def test_a_float_that_is_no_number_stays_one() -> None:
    assert math.isnan(travelled(math.nan))


class _Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class _LyingList(list[int]):
    def __iter__(self) -> Any:
        return iter([7])

    def __len__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return True


class _LyingText(str):
    def __eq__(self, other: object) -> bool:
        return True

    def __str__(self) -> str:
        return "something else"

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    ("value", "plain"),
    [(_Liar(3), 3), (_LyingList([1, 2]), [1, 2]), (_LyingText("ab"), "ab")],
    ids=["int", "list", "str"],
)
def test_a_subclass_travels_as_what_it_holds(value: Any, plain: Any) -> None:
    arrived = travelled(value)
    assert type(arrived) is type(plain)
    assert arrived == plain


@pytest.mark.parametrize(
    "iterator",
    [iter([1, 2]), map(abs, [-1, 2]), (n for n in (1, 2))],
    ids=["list", "map", "generator"],
)
def test_an_iterator_arrives_as_one_and_equals_no_list(iterator: Any) -> None:
    arrived = travelled(iterator)
    assert arrived != [1, 2]
    assert list(arrived) == [1, 2]


def test_views_of_a_dict_compare_like_views() -> None:
    assert travelled({1: 2}.keys()) == {1}
    assert list(travelled({1: 2}.values())) == [2]
    assert travelled({1: 2}.items()) == {(1, 2)}


@pytest.mark.parametrize("items", [(12, 13, 14, 15, 16), (1, 2, 3), (31, 0, 63, 5)])
def test_a_set_is_iterated_in_the_same_order(items: tuple[int, ...]) -> None:
    at_once, one_by_one = {*frozenset(items)}, set()
    for item in items:
        one_by_one.add(item)
    for value in (at_once, one_by_one):
        assert list(travelled(value)) == list(value)


def test_what_is_no_data_is_remembered_and_stands_for_itself() -> None:
    kept: list[Any] = []

    def remember(value: Any) -> int:
        kept.append(value)
        return len(kept) - 1

    data = loads(dumps(encode([print, {"k": object}], remember)))
    assert kept == [print]
    assert decode(data, kept.__getitem__, _no_object) == [print, {"k": object}]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"list": [], "tuple": []},
        {"no such tag": 1},
        {"int": "zz"},
        {"set": [[1]]},
        {"dict": [1]},
        {"type": "eval"},
        {"Fraction": [1, 0]},
        {"complex": 3},
    ],
    ids=repr,
)
def test_what_no_value_gives_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"tag|malformed|invalid literal|zip"):
        decode(data, _no_object, _no_object)


def test_a_value_without_end_is_refused() -> None:
    with pytest.raises(Unsendable, match="items"):
        encode(iter(int, 1), _no_object)


def test_a_value_that_holds_itself_is_refused() -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(RecursionError):
        encode(ring, _no_object)
