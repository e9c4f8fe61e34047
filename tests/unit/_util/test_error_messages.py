"""An error's words are shown whole, on one line."""

from __future__ import annotations

import pytest

from ckptbench._util.errors import CkptbenchError, one_line

LISTED = "Couldn't instantiate it from one of: \n(1) a file, \n(2) a class.\nInstall something."


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("short"), "short"),
        (ValueError("  \n "), "ValueError"),
        (KeyError(), "KeyError"),
        (OSError(2, "No such file"), "[Errno 2] No such file"),
        (
            ValueError(LISTED),
            "Couldn't instantiate it from one of: (1) a file, (2) a class. Install something.",
        ),
        (CkptbenchError("is gone", where="a", remedy="look"), "a: is gone look"),
    ],
)
def test_lines_are_joined(error: Exception, words: str) -> None:
    assert one_line(error) == words


def test_what_is_too_long_ends_behind_a_sentence() -> None:
    assert one_line(ValueError(LISTED), 70) == (
        "Couldn't instantiate it from one of: (1) a file, (2) a class."
    )
    assert one_line(ValueError(f"Wait now! {'word ' * 30}"), 20) == "Wait now!"


def test_a_sentence_that_is_too_long_is_marked_where_it_is_cut() -> None:
    assert one_line(ValueError("word " * 100), 22) == "word word word word ..."
    assert one_line(ValueError("x" * 100), 10) == f"{'x' * 10} ..."
