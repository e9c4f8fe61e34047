"""Statements out of text that is Python in part, and how much work that is."""

from __future__ import annotations

import pytest

from ckptbench.fixtures.datasets.code.extraction import function_code
from ckptbench.fixtures.datasets.code.statements import MOST_LOOKS, read


def texts(source: str) -> list[str]:
    return [statement.text for statement in read(source).statements]


@pytest.mark.parametrize(
    "statement",
    [
        "x = [\n1,\n2,\n]\n",
        'x = """\ndef f(:\n"""\n',
        "x = '(' + \"[\" # it's\n",
        "x = 1 + \\\n    2\n",
        "@first\n@second(1)\n\n# why\ndef f():\n    return 1\n",
        "def f():\n    'what it does'\n",
        "def f():\n# a comment at the margin\n    return 1\n",
        "if x:\n    y = 1\nelse:\n    y = 2\n",
        "합계 = {\n'a': 1}\n",
        "x = r'\\d' + f'{x[\"a\"]}'\n",
    ],
)
def test_a_statement_amid_prose_is_whole(statement: str) -> None:
    text = f"Here it's: (\n{statement}That's all, isn't it?\ny = 2\n"
    assert texts(text) == [statement, "y = 2\n"]


def test_what_is_never_closed_is_passed_over() -> None:
    assert texts("x = (\ny = 1\nz = '\nif (w:\n    w = 1\nv = 2\n") == ["y = 1\n", "v = 2\n"]


@pytest.mark.parametrize(
    "text",
    [
        "x = (\n" * 400,
        "x = (\n" * 4_000,
        "x = [\n" + "y = (1,\n" * 3000,
        "x = \"\"\" '''\n" * 3001,
        "x = (\n" + "y = 1\n" * 20 + "x = (\n" * 150 + "y = 1\n" * 3000,
        "@a\n" * 3000 + "oops oops\n",
        "def f():\n    x = (\n" * 2000,
        "x = [\n" + "1 2\n" * 3000 + "]\n",
        'x = "\n' * 3000,
        "if (a:\n" * 3000,
    ],
)
def test_the_work_is_bounded_by_the_length_of_the_text(text: str) -> None:
    assert read(text).looked_at <= MOST_LOOKS * len(text)


def test_python_is_parsed_once() -> None:
    source = "def f():\n    return 1\n" * 100
    assert read(source).looked_at == len(source)
    prose = f"Sure!\n{source}\nIt's done.\n"
    assert read(prose).looked_at <= 4 * len(prose)


def test_deeply_nested_compounds_are_read_once() -> None:
    nested = "".join(f"{' ' * depth}if depth:\n" for depth in range(80))
    source = f"depth = 1\n{nested}{' ' * 80}area = abs\n"
    assert function_code(source, "area") == source


@pytest.mark.parametrize(
    ("text", "scanned"),
    [
        ("y = 1\n", 0),
        ("no\ncode here\n", 3 + 10),  # a statement, and words that are parsed
        ("x = )\ny = 1\n", 5 + 2 * 6),  # up to the bracket; a statement, scanned and parsed
        ("x = (\ny = 1\n", 12 + 2 * 6),  # to the end of the text
        ('x = "abc\ny = 1\n', 8 + 2 * 6),  # to the end of the line
        ('x = "abc\ny = "z', 8 + 6),
        ("x = " + "(" * 300 + "\ny = 1\n", 4 + 201 + 2 * 6),  # Python allows 200
        ("@a\nx\ny = 1\n", 2 * 5 + 2 + 2 * 6),  # what is decorated ends at `x`
    ],
)
def test_what_is_looked_at_is_counted_each_time(text: str, scanned: int) -> None:
    assert read(text).looked_at == len(text) + scanned


def test_a_text_that_is_indented_as_a_whole_is_read_without_its_indentation() -> None:
    assert texts("    x = 1\n    if x:\n        y = 2\n") == ["x = 1\n", "if x:\n    y = 2\n"]
    assert texts("    x = 1\n    and so on\n    y = 2\n") == ["x = 1\n", "y = 2\n"]


def test_brackets_are_nested_as_deep_as_python_allows() -> None:
    assert texts("so it is:\nx = " + "[" * 199 + "]" * 199 + "\n") != []
    assert texts("so it is:\nx = " + "[" * 201 + "]" * 201 + "\n") == []


def test_statements_of_one_line_are_one_and_the_next_line_is_another() -> None:
    assert texts("a = 1; b = 2\nc = 3; d = [\n4]; e = 5\nf = 6\n") == [
        "a = 1; b = 2\n",
        "c = 3; d = [\n4]; e = 5\n",
        "f = 6\n",
    ]
    found = read("a = 1; b = 2\nc = 3\n").statements
    assert [len(statement.nodes) for statement in found] == [2, 1]
