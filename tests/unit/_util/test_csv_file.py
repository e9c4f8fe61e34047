"""CSV that a spreadsheet shows and does not compute."""

from __future__ import annotations

import csv
import io

import pytest

from ckptbench._util.csv_file import write_rows


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r"])
def test_a_text_that_begins_a_formula_is_shown_as_text(begin: str) -> None:
    file = io.StringIO(newline="")
    write_rows(file, [[f"{begin}cmd|' /C calc'!A0", "c-1", "", -0.5, 3, None]])
    (cells,) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    shown = begin.replace("\r", "\n")
    assert cells == [f"'{shown}cmd|' /C calc'!A0", "c-1", "", "-0.5", "3", ""]
