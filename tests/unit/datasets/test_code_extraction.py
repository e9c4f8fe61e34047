"""Code out of answers: what counts as code, what stays and what goes."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.fixtures.datasets.code.extraction import (
    defines,
    fenced_blocks,
    function_code,
    program_code,
)


def run(source: str, name: str = "area") -> Any:
    scope: dict[str, Any] = {"__name__": "program"}
    exec(source, scope)
    return scope[name]


FENCED = """\
Sure! Multiply both sides:

```python
def area(a, b):
    return a * b
```

Both are **positive**.
"""


def test_the_code_stands_between_the_fences() -> None:
    assert function_code(FENCED, "area") == "def area(a, b):\n    return a * b\n"


@pytest.mark.parametrize("tag", ["", "python", "Python", "py", "python3", "{.python}", " python "])
def test_a_language_tag_ends_at_its_lines_end(tag: str) -> None:
    answer = f"```{tag}\ndef area(a, b):\n    return a * b\n```"
    assert function_code(answer, "area") == "def area(a, b):\n    return a * b\n"


def test_code_that_begins_like_a_tag_is_no_tag() -> None:
    answer = "```\npython = 2\ndef area(a, b):\n    return python * a * b\n```"
    assert run(function_code(answer, "area"))(1, 3) == 6


def test_an_unclosed_fence_runs_to_the_end() -> None:
    answer = "Here it is:\n```python\ndef area(a, b):\n    return a * b"
    assert function_code(answer, "area") == "def area(a, b):\n    return a * b\n"


def test_a_fence_may_open_behind_words_and_close_behind_code() -> None:
    answer = "The code: ```python\ndef area(a, b):\n    return a * b```\nDone."
    assert function_code(answer, "area") == "def area(a, b):\n    return a * b\n"


def test_a_fence_in_a_list_gives_its_indentation_to_the_code() -> None:
    answer = "1. Like this:\n\n   ```python\n   def area(a, b):\n       return a * b\n   ```\n"
    assert function_code(answer, "area") == "def area(a, b):\n    return a * b\n"


def test_the_indentation_is_that_of_a_fence_on_a_line_of_its_own() -> None:
    (block,) = fenced_blocks("   ```py\n   x = 1\n     y = 2\n z = 3\n   ```\n")
    assert block.code == "x = 1\n  y = 2\n z = 3\n"
    (block,) = fenced_blocks("  So: ```py\n  x = 1\n  ```\n")
    assert (block.code, block.introduction) == ("  x = 1\n", "So:")
    # A closing fence is indented by at most three more.
    (block,) = fenced_blocks("  ```py\nx = 1\n      ```\n     ```\n")
    assert block.code == "x = 1\n    ```\n"


def test_a_fence_inside_a_docstring_does_not_close() -> None:
    answer = (
        '```python\ndef area(a, b):\n    """Area.\n\n    ```\n    area(1, 2)\n    ```\n    """\n'
        "    return a * b\n```\n"
    )
    assert run(function_code(answer, "area"))(2, 3) == 6


def test_a_longer_fence_holds_shorter_ones() -> None:
    (block,) = fenced_blocks("````python\nx = '''\n```\n'''\n````\n")
    assert block.code == "x = '''\n```\n'''\n"


def test_the_last_definition_of_the_entry_point_wins() -> None:
    answer = (
        "```python\ndef area(a, b):\n    return a + b\n```\nWait, that is wrong:\n"
        "```python\ndef area(a, b):\n    return a * b\n```\n"
    )
    assert run(function_code(answer, "area"))(3, 4) == 12


def test_helpers_of_an_earlier_block_stay() -> None:
    answer = (
        "```python\ndef double(x):\n    return 2 * x\n```\nand\n"
        "```python\ndef area(a, b):\n    return double(a) * b // 2\n```\n"
    )
    assert run(function_code(answer, "area"))(3, 4) == 12


def test_blocks_in_other_languages_are_passed_over() -> None:
    answer = f"```bash\npip install shapes\n```\n{FENCED}\n```text\n12\n```\n"
    assert function_code(answer, "area") == "def area(a, b):\n    return a * b\n"


WHOLE = '''\
from __future__ import annotations
import functools
try:
    from fast import multiply
except ImportError:
    def multiply(a, b):
        return a * b
UNIT = 1
TABLE = {}
for number in range(3):
    TABLE[number] = number
TABLE.update({7: 7})
class Side:
    length: int = UNIT
@functools.lru_cache(maxsize=None)
def area(a, b):
    """Area."""
    return multiply(a, b) * UNIT + TABLE[0]
'''


def test_imports_helpers_constants_and_decorators_stay() -> None:
    code = function_code(WHOLE, "area")
    assert code == WHOLE
    assert run(code)(3, 4) == 12


SETTINGS = {
    "a choice by cases": "match 3:\n    case 3:\n        K = 5\n    case _:\n        K = 2\n",
    "a walrus": "(K := 5)\n",
    "a walrus in a value": "N = (K := 5) + 1\n",
    "a walrus in a condition": "if (K := 5) > 3:\n    pass\n",
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("prose", ["", "The side of a square is then known:\n"])
def test_what_sets_a_constant_stays(setting: str, prose: str) -> None:
    answer = f"{prose}{setting}\ndef area(a, b):\n    return a * b * K\n"
    assert run(function_code(answer, "area"))(2, 3) == 30


def test_an_attribute_set_by_its_name_stays() -> None:
    answer = "def area(a, b):\n    return a * b * area.k\nsetattr(area, 'k', 5)\n"
    assert run(function_code(answer, "area"))(2, 3) == 30


@pytest.mark.parametrize("tag", ["", "python", "pycon"])
def test_of_a_session_the_input_is_code(tag: str) -> None:
    session = (
        ">>> K = 5\n>>> def area(a, b):\n...     k = K\n...\n...     return a * b * k\n...\n"
        ">>> area(2, 3)\n30\n"
    )
    code = "K = 5\ndef area(a, b):\n    k = K\n\n    return a * b * k\n"
    assert function_code(f"```{tag}\n{session}```\n", "area") == code
    assert function_code(session, "area") == code
    assert program_code(f"```{tag}\n{session}```\n").endswith("\narea(2, 3)\n")


def test_a_string_with_a_separator_stays_in_one_line() -> None:
    answer = "  ```\n  def area(a, b):\n      return 'x\x1c  y'\n  ```\n"
    assert run(function_code(answer, "area"))(2, 3) == "x\x1c  y"


@pytest.mark.parametrize(
    "trial",
    [
        "assert area(1, 2) == 3",
        "print(area(1, 2))",
        "result = area(1, 2)",
        "for side in range(3):\n    assert area(side, 1) == 9",
        "def main():\n    raise SystemExit(area(1, 2))\nmain()",
        "if __name__ == '__main__':\n    raise SystemExit",
        "import unittest\nunittest.main()",
        "with open('nowhere') as file:\n    print(area(1, file.read()))",
        "exit()",
        "match area(1, 2):\n    case 3:\n        raise SystemExit",
        "match input():\n    case _:\n        raise SystemExit",
        "(result := area())",
        "setattr(print, 'k', area())",
    ],
)
def test_what_only_tries_the_answer_goes(trial: str) -> None:
    assert run(function_code(f"def area(a, b):\n    return a * b\n\n{trial}\n", "area"))(3, 4) == 12


def test_a_definition_may_wrap_an_earlier_one() -> None:
    answer = "def area(a, b):\n    return a * b\n\narea = abs_of(area)\n"
    helper = "def abs_of(f):\n    return lambda *x: abs(f(*x))\n\n"
    assert run(function_code(helper + answer, "area"))(-3, 4) == 12


def test_prose_around_bare_code_is_passed_over() -> None:
    answer = (
        "Note: this works for any sides.\nimport math\n\n"
        "def area(a, b):\n    return math.prod((a, b))\n\nIt's O(1), isn't it?\nSure\n"
    )
    code = function_code(answer, "area")
    assert code == "import math\ndef area(a, b):\n    return math.prod((a, b))\n"


def test_a_cut_off_end_is_passed_over() -> None:
    answer = "def area(a, b):\n    return a * b\n\ndef check_area():\n    assert area(2, 3) == (6"
    assert run(function_code(answer, "area"))(2, 3) == 6


def test_strings_over_several_lines_are_no_prose() -> None:
    answer = (
        'TEXT = """\none\n(\n"""\ndef area(a, b):\n    return a * b * len(TEXT)\nthe end is near'
    )
    assert run(function_code(answer, "area"))(1, 1) == 7


def test_without_the_entry_point_the_code_stays_as_it_is() -> None:
    assert function_code("```python\n    return a * b\n```", "area") == "    return a * b\n"
    assert function_code("    return a * b", "area") == "    return a * b\n"


def test_an_answer_without_code_is_no_definition() -> None:
    assert not defines(function_code("I cannot do that.", "area"), "area")
    assert function_code("", "area") == ""


def test_two_statements_of_a_line_stay_together() -> None:
    answer = "x = 3; y = 4\ndef area(a, b):\n    return a * b + x - 3 + y - 4\n"
    assert function_code(answer, "area") == answer


def test_carriage_returns_are_line_ends() -> None:
    answer = "```python\r\ndef area(a, b):\r\n    return a * b\r\n```\r\n"
    assert run(function_code(answer, "area"))(3, 4) == 12


def test_a_program_is_the_last_block_that_reads_its_input() -> None:
    answer = (
        "```python\nprint(1)\n```\n```python\nn = int(input())\nif __name__ == '__main__':\n"
        "    print(n)\n```\nFor example:\n```\n5\n```\n"
    )
    assert program_code(answer) == "n = int(input())\nif __name__ == '__main__':\n    print(n)\n"


def test_a_program_without_fences_is_the_answer() -> None:
    assert program_code("print(input())") == "print(input())\n"


def test_a_program_that_reads_nothing_is_the_last_python() -> None:
    assert program_code("```python\nprint(1)\n```\n```\nfirst, then\n```") == "print(1)\n"
