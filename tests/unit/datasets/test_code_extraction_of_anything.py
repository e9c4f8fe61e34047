"""Code out of any answer: nothing raises, no definition is lost, and length costs its due."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptbench.fixtures.datasets.code.extraction import defines, function_code, program_code

PIECES = st.sampled_from(
    [
        "```",
        "````",
        "~~~",
        "```python\n",
        "\n",
        "    ",
        "\t",
        "def area(a, b):",
        "return a * b",
        "class area:",
        '"""',
        "'",
        "(",
        "]",
        "\\",
        "#",
        "import os",
        "from __future__ import x",
        "Wrong:",
        "print(area(1, 2))",
        "<think>",
        "</think>",
        "input()",
        "lambda: 0",
        "\x00",
        "\f",
        "area = ",
        "@",
        "if True:",
        "else:",
        "\r",
        "가",
        "\ud800",
        "1. ",
        "> ",
        ">>> ",
        "async ",
    ]
)
ANSWERS = st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join)
DEFINITION = "def area(a, b):\n    return a * b\n"
PROSE = st.lists(
    st.sampled_from(["Sure!", "It multiplies.", "", "Both are positive.", "1. So:"]), max_size=4
).map(lambda lines: "".join(f"{line}\n" for line in lines))


@given(ANSWERS)
@settings(max_examples=150, deadline=None)
def test_no_answer_raises(answer: str) -> None:
    assert isinstance(function_code(answer, "area"), str)
    assert isinstance(program_code(answer), str)


@given(PROSE, PROSE, st.sampled_from(["```", "```python", "~~~py", "````"]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_the_entry_point_is_never_dropped(
    before: str, after: str, fence: str, closed: bool
) -> None:
    end = f"{fence.rstrip('python')}\n{after}" if closed else ""
    code = function_code(f"{before}{fence}\n{DEFINITION}{end}", "area")
    assert defines(code, "area")
    assert DEFINITION in code


def calls(function: Callable[[], object]) -> int:
    """How many Python functions are called: a cost that no other program on the machine changes."""
    count = 0

    def counting(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "repeated",
    [
        "```python\ndef area{n}(a, b):\n    return a * b\n```\n",
        "```\n",
        "x = (\n",
        "def area(a, b):\n    return a * b\n",
        "It multiplies both sides.\n",
        "    indented = {n}\n",
    ],
)
def test_an_answer_of_four_times_the_length_costs_about_four_times_as_much(repeated: str) -> None:
    short, long = ("".join(repeated.format(n=n) for n in range(size)) for size in (60, 240))
    function_code(short, "area")  # what is made once
    assert calls(lambda: function_code(long, "area")) < 8 * calls(
        lambda: function_code(short, "area")
    )
