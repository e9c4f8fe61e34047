"""The reports for people, as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.reports.write import write_report


def test_html_is_a_page_and_its_plots(rising: Any, tmp_path: Path) -> None:
    written = write_report(*rising.both, tmp_path / "new", ["html"])
    assert [str(path.relative_to(tmp_path / "new")) for path in written[:3]] == [
        "report.html",
        "plots/real_at_1-by-step.svg",
        "plots/real_at_1-by-step.png",
    ]
    assert all(path.stat().st_size for path in written)


def test_md_is_one_file(rising: Any, tmp_path: Path) -> None:
    assert write_report(*rising.both, tmp_path, ["md", "md"]) == (tmp_path / "report.md",)
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def test_an_unknown_format_writes_nothing_and_names_the_nearest(
    rising: Any, tmp_path: Path
) -> None:
    with pytest.raises(CkptbenchError) as caught:
        write_report(*rising.both, tmp_path, ["md", "htm"])
    assert caught.value.what == "there is no format 'htm' (did you mean 'html'?)"
    assert caught.value.remedy == "Formats are html, md, plots."
    assert list(tmp_path.iterdir()) == []
