"""Answers of several blocks: which of them are the answer, and which only speak of it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ckptbench.fixtures.datasets.code.extraction import (
    function_code,
    holds_markdown,
    is_shown_as_wrong,
    program_code,
)

RIGHT = "```python\ndef area(a, b):\n    return a * b\n```\n"
OTHER = "```python\ndef area(a, b):\n    return a + b\n```\n"
BARE = "def area(a, b):\n    return a * b\n"


def run(source: str) -> Any:
    scope: dict[str, Any] = {"__name__": "program"}
    exec(source, scope)
    return scope["area"]


@pytest.mark.parametrize(
    "use",
    [
        "from shapes import area\nprint(area(2, 3))",
        "from shapes import area\n\nassert area(2, 3) == 6",
        "import shapes\nprint(shapes.area(2, 3))",
        "import numpy_like as np\nsides = np.array([1, 2])\nprint(area(*sides))",
        "import testing_tool\n\ndef test_area():\n    assert area(1, 2) == 2",
        "import unit\n\nclass Test(unit.Case):\n    def test(self):\n        assert area(1, 1)",
        "from .shapes import area",
        ">>> area(1, 2)\n2",
    ],
)
def test_a_block_that_shows_the_use_goes_with_its_imports(use: str) -> None:
    shown = f"```python\n{use}\n```\n"
    assert function_code(f"{RIGHT}Usage:\n{shown}", "area") == BARE
    assert function_code(f"{shown}where\n{RIGHT}", "area") == BARE


def test_a_block_that_calls_the_entry_point_and_is_needed_by_it_stays() -> None:
    first = "```python\ndef area(a, b):\n    return go(a, b) if b else 0\n```\nwith\n"
    second = "```python\ndef go(a, b):\n    return a + area(a, b - 1)\n```\n"
    assert run(function_code(first + second, "area"))(3, 4) == 12


def test_a_block_that_sets_something_up_stays() -> None:
    answer = f"```python\nimport sys\nsys.setrecursionlimit(1234)\n```\n{RIGHT}"
    assert "sys.setrecursionlimit(1234)" in function_code(answer, "area")


@pytest.mark.parametrize("rest", ["if __name__ == '__main__':\n    print(1)\n", "side: int\n"])
def test_a_main_block_and_a_bare_annotation_go(rest: str) -> None:
    assert function_code(f"{rest}{BARE}{rest}", "area") == BARE


def test_what_a_stub_needs_stays_where_it_is_all_there_is() -> None:
    answer = "n = int(input())\nm = int(input())\ndef area(a=n): ...\n"
    assert function_code(answer, "area") == "n = int(input())\ndef area(a=n): ...\n"


def test_of_blocks_of_other_languages_none_counts_unless_all_are() -> None:
    other = "```text\ndef area(a, b):\n    return 0\n```\n"
    assert function_code(f"{RIGHT}{other}", "area") == BARE
    assert function_code(f"Here:\n```plaintext\n{BARE}```\nDone: int = 1\n", "area") == BARE


def test_an_import_of_the_answer_itself_is_no_definition() -> None:
    assert function_code(f"{BARE}\nfrom shapes import area\n", "area") == BARE
    assert function_code(f"from shapes import area\n{BARE}", "area") == BARE
    assert run(function_code("from math import hypot as area\n", "area"))(3, 4) == 5
    standard = f"from math import hypot as area\nold = area\n{BARE}"
    assert run(function_code(standard, "area"))(3, 4) == 12


@pytest.mark.parametrize(
    "body", ["...", "pass", '"""The area."""', "raise NotImplementedError('later')", "'x'; pass"]
)
def test_a_stub_after_the_definition_is_no_definition(body: str) -> None:
    stub = f"def area(a, b):\n    {body}\n"
    answer = f"{RIGHT}The signature:\n```python\n{stub}```\n"
    assert run(function_code(answer, "area"))(3, 4) == 12
    assert function_code(stub, "area") == stub


@pytest.mark.parametrize(
    "introduction",
    [
        "Do NOT write:",
        "Please don't do it like this:",
        "You should never write it this way:",
        "**Wrong:**",
        "### Incorrect version",
        "A common mistake:",
        "Here is a buggy example:",
        "What not to do:",
        "An anti-pattern: adding",
        "That works. Bad example:",
        "The short version (wrong):",
        "- Things to avoid:",
        "❌ Addition",
        "이렇게 쓰지 마세요:",
        "이렇게 하면 안 됩니다:",
        "잘못된 예:",
    ],
)
def test_code_shown_as_wrong_does_not_win(introduction: str) -> None:
    assert run(function_code(f"{RIGHT}{introduction}\n\n{OTHER}", "area"))(3, 4) == 12
    assert run(function_code(f"{introduction}\n{OTHER}The answer:\n{RIGHT}", "area"))(3, 4) == 12
    # It is the answer where there is no other.
    assert run(function_code(f"{introduction}\n{OTHER}", "area"))(3, 4) == 7


@pytest.mark.parametrize("comment", ["# Wrong!", "# Don't do this", "# BAD: it adds"])
def test_a_comment_at_the_head_says_so_too(comment: str) -> None:
    wrong = OTHER.replace("def", f"{comment}\ndef", 1)
    assert run(function_code(RIGHT + wrong, "area"))(3, 4) == 12


@pytest.mark.parametrize(
    "introduction",
    [
        "Wait, that is wrong:",
        "This was incorrect. Here it is:",
        "The corrected version:",
        "Don't forget the empty list:",
        "Don't worry, once more:",
        "Instead of the wrong sum, write:",
        "Do not use addition, multiply:",
        "Fixed a bad case:",
        "A bad-case-free version:",
        "Mistakes happen, once more:",
        "Alternatively:",
        "걱정하지 마세요:",
        "반복문을 사용하지 않는 풀이:",
        "잘못된 코드를 수정하면:",
        "",
    ],
)
def test_a_correction_wins_whatever_it_says_of_the_code_before(introduction: str) -> None:
    assert run(function_code(f"{OTHER}{introduction}\n{RIGHT}", "area"))(3, 4) == 12


def test_the_only_definition_counts_though_it_is_shown_as_wrong() -> None:
    setup = "```python\nimport math\n```\n"
    assert function_code(f"{setup}Do not write:\n{RIGHT}", "area") == f"import math\n{BARE}"


def test_a_comment_counts_above_the_first_statement_only() -> None:
    assert is_shown_as_wrong("", "\n# Sides.\n\n# Wrong:\nx = 1\n")
    assert not is_shown_as_wrong("", "x = 1\n# Wrong:\n")
    assert not is_shown_as_wrong("", "# Sides.\nx = 1\n# Wrong:\n")


def test_imports_from_the_future_come_first_once() -> None:
    helper = "```python\nfrom __future__ import annotations\nimport math\nONE = 1\n```\n"
    answer = helper + RIGHT.replace("def", "from __future__ import annotations\n\ndef", 1)
    code = function_code(answer, "area")
    assert code.splitlines()[0] == "from __future__ import annotations"
    assert code.count("__future__") == 1
    assert run(code)(3, 4) == 12


def test_input_read_for_nothing_goes() -> None:
    answer = "import sys\nn = int(input())\ndef area(a, b):\n    n = a * b\n    return n\n"
    assert "input" not in function_code(f"{answer}rows = sys.stdin.read()\n", "area")
    needed = function_code(answer.replace("n = a * b", "return n * a * b"), "area")
    assert "n = int(input())" in needed


def test_what_the_entry_point_needs_stays_although_it_calls_it() -> None:
    answer = (
        "def area(a, b):\n    return slow(a, b)\ndef slow(a, b):\n"
        "    return a + area(a, b - 1) if b else 0\nslow = tuple((slow,))[0]\narea.calls = 0\n"
    )
    assert function_code(answer, "area") == answer


def test_thoughts_are_no_answer() -> None:
    thought = "<think>Maybe\n```python\ndef area(a, b):\n    return 0\n\nno, wait</think>\n"
    assert function_code(thought + RIGHT, "area") == BARE
    assert program_code("<think>```\nprint(0)</think>print(input())") == "print(input())\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="`type` statements are of Python 3.12")
def test_a_type_alias_stays() -> None:
    answer = "type Side = int\ndef area(a: Side, b: Side):\n    return a * b\n"
    assert function_code(answer, "area") == answer


SOLVE = "def solve():\n    n = int(input())\n    print(2 * n)\n"


@pytest.mark.parametrize(
    "call",
    ["solve()\n", "if __name__ == '__main__':\n    solve()\n", "for _ in '1':\n    solve()\n"],
)
def test_the_call_in_the_next_block_is_part_of_the_program(call: str) -> None:
    answer = f"```python\n{SOLVE}```\nThen:\n```python\n{call}```\nSample:\n```\n5\n```\n"
    assert program_code(answer) == SOLVE + call


def test_a_program_that_calls_itself_is_called_once() -> None:
    answer = f"```python\n{SOLVE}solve()\n```\nThe call:\n```python\nsolve()\n```\n"
    assert program_code(answer) == f"{SOLVE}solve()\n"


def test_the_next_block_that_calls_it_may_define_something_else() -> None:
    call = "def twice(n):\n    return 2 * n\nsolve()\n"
    answer = f"```python\n{SOLVE}```\nThen:\n```python\n{call}```\n"
    assert program_code(answer) == SOLVE + call


def test_a_call_in_an_earlier_block_is_no_part_of_the_program() -> None:
    assert program_code(f"```python\nsolve()\n```\nwith\n```python\n{SOLVE}```\n") == SOLVE


def test_a_block_that_defines_it_again_is_another_program() -> None:
    again = "```python\ndef solve():\n    print(0)\nsolve()\n```\n"
    assert program_code(f"```python\n{SOLVE}```\nOr:\n{again}") == SOLVE
    call = "The call:\n```python\nsolve()\n```\n"
    assert program_code(f"```python\n{SOLVE}```\nOr:\n{again}{call}") == f"{SOLVE}solve()\n"


def test_what_a_program_uses_comes_from_earlier_blocks() -> None:
    first = (
        "import sys\nprint('no')\n"
        "def late(n: int):\n    return twice(n)\ndef twice(n):\n    return 2 * n\n"
    )
    second = "for line in sys.stdin:\n    print(late(int(line)))\n"
    program = program_code(f"```python\n{first}```\n```python\n{second}```\n")
    assert program == first.replace("print('no')\n", "") + second


def test_what_a_program_binds_itself_comes_from_no_earlier_block() -> None:
    late = "def late(x):\n    return x + n\n"
    second = "n = input()\nprint(late(n))\n"
    program = program_code(f"```python\nn = 5\n{late}```\n```python\n{second}```\n")
    assert program == late + second


def test_an_earlier_attempt_is_not_mixed_into_a_whole_program() -> None:
    attempt = "```python\nn = int(input())\nprint(n)\n```\nBetter:\n"
    assert program_code(f"{attempt}```python\n{SOLVE}solve()\n```\n") == f"{SOLVE}solve()\n"


def test_a_program_shown_as_wrong_does_not_win() -> None:
    wrong = "Do not write:\n```python\nprint(input())\n```\n"
    assert program_code(f"```python\n{SOLVE}solve()\n```\n{wrong}") == f"{SOLVE}solve()\n"


@pytest.mark.parametrize(
    ("answer", "markdown"),
    [
        (RIGHT, True),
        (f"Sure:\n{RIGHT}", True),
        ("    return a * b\n", False),
        ("def area(a, b):\n    return a * b\n```\n", False),
        ('X = """\n```python\nx = 1\n```\n"""\n', False),
    ],
)
def test_markdown_is_told_from_programs(answer: str, markdown: bool) -> None:
    assert holds_markdown(answer) is markdown
