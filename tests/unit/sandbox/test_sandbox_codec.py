"""Values travel as data: plain ones unchanged, everything else as a handle or not at all."""

from __future__ import annotations

import array
import datetime
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest

from ckptbench.fixtures.sandbox.codec import Encoder, decode, dumps, encode, loads, no_objects
from ckptbench.fixtures.sandbox.decoder import Decoder

Point = namedtuple("Point", "x y")


def _no_object(value: Any, _: Encoder) -> Any:
    raise AssertionError(f"{value!r} is data")


def travelled(value: Any) -> Any:
    return decode(loads(dumps(encode(value, _no_object))), no_objects)


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

    def remember(value: Any, _: Encoder) -> Any:
        kept.append(value)
        return {"handle": len(kept) - 1}

    data = loads(dumps(encode([print, {"k": object}], remember)))
    assert kept == [print]
    assert decode(data, lambda tag, body, *_: kept[body]) == [print, {"k": object}]


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
        decode(data, no_objects)


@pytest.mark.parametrize(
    "value",
    [
        memoryview(b"ab"),
        array.array("i", [1, 2]),
        datetime.timezone(datetime.timedelta(hours=9)),
        datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC),
        deque([1, 2], maxlen=2),
        Point(1, [2]),
        [Point(1, 2)],
        ["long" * 2**15, "\ud800"],
        [1, 2**70, -(2**70)],
        [True, None, 1.5, math.inf],
    ],
    ids=lambda value: type(value).__name__,
)
def test_rarer_values_arrive_as_they_were(value: Any) -> None:
    arrived = travelled(value)
    assert arrived == value
    assert type(arrived).__name__ == type(value).__name__


def test_a_named_tuple_keeps_its_fields() -> None:
    arrived = travelled(Point(1, 2))
    assert (arrived.x, arrived.y) == (1, 2)
    assert arrived == (1, 2)


@pytest.mark.parametrize("made", [list, int, str, dict])
def test_a_default_of_a_dict_arrives(made: Any) -> None:
    arrived = travelled(defaultdict(made, {"a": made()}))
    assert arrived == {"a": made()}
    assert arrived["b"] == made()


def test_builtin_exceptions_arrive_with_their_arguments() -> None:
    arrived = travelled(OSError(2, "no such file"))
    assert type(arrived) is FileNotFoundError
    assert arrived.errno == 2


def test_one_container_that_comes_twice_stays_one() -> None:
    row = [0]
    arrived = travelled([row, (row, {"r": row}), {1}])
    arrived[0].append(1)
    assert arrived[1] == ([0, 1], {"r": [0, 1]})


def test_a_value_that_holds_itself_arrives_as_one() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    arrived = travelled(ring)
    assert arrived[1] is arrived
    assert arrived[0] == 1


def test_values_nested_deeper_than_python_recurses_arrive() -> None:
    nested: list[Any] = []
    for _ in range(1500):
        nested = [nested]
    limit = sys.getrecursionlimit()
    arrived, depth = travelled(nested), 0
    while arrived:
        arrived, depth = arrived[0], depth + 1
    assert depth == 1500
    assert sys.getrecursionlimit() == limit


def test_nesting_without_end_is_refused() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(RecursionError):
        encode(nested, _no_object)


@pytest.mark.parametrize(
    ("mine", "changed"),
    [
        ([1, [2]], [3]),
        ({"a": 1}, {"b": 2, "a": 3}),
        ({1}, {2, 3}),
        (deque([1]), deque([2, 3])),
        (bytearray(b"a"), bytearray(b"bc")),
        (Counter("a"), Counter("bb")),
        (OrderedDict(a=1), OrderedDict(b=1, a=2)),
        (defaultdict(int), defaultdict(int, a=1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_change_over_there_is_made_in_the_same_object(mine: Any, changed: Any) -> None:
    there = Decoder(no_objects)
    (theirs,) = there.values(Encoder(_no_object).nodes([mine]))
    if isinstance(theirs, list | bytearray):
        theirs[:] = changed
    else:
        theirs.clear()
        (theirs.extend if isinstance(theirs, deque) else theirs.update)(changed)
    sent = Encoder(_no_object)
    sent.nodes([mine])
    back = Encoder(_no_object, there.containers).nodes([theirs])
    (arrived,) = Decoder(no_objects, sent.containers).values(loads(dumps(back)))
    assert arrived is mine
    assert mine == changed


def test_an_array_keeps_its_type_and_is_changed_in_place() -> None:
    mine = numpy.array([[1, 2], [3, 4]], dtype="int16")
    there = Decoder(no_objects)
    (theirs,) = there.values(Encoder(_no_object).nodes([mine]))
    assert theirs.dtype == mine.dtype
    theirs[0, 1] = 9
    sent = Encoder(_no_object)
    sent.nodes([mine])
    back = Encoder(_no_object, there.containers).nodes([theirs])
    Decoder(no_objects, sent.containers).values(loads(dumps(back)))
    assert mine.tolist() == [[1, 9], [3, 4]]


def test_a_container_does_not_become_another_kind() -> None:
    with pytest.raises(ValueError, match="kind"):
        Decoder(no_objects, [[1]]).values([{"kept": [0, {"dict": []}]}])
