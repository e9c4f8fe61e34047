"""The reports for people as files: which formats there are, and what each of them writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._util.atomic import atomic_write_text
from .._util.errors import CkptbenchError, nearest, require_packages
from .._util.extensions import contributions
from ..analysis.conclude import conclude
from ..analysis.conclusions import Conclusions
from ..readers.detect import read
from ..readers.result import Result
from . import INSTALL

Writer = Callable[[Sequence[Result], Conclusions, Path], tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A format of reports.

    Attributes:
        name: as `--report` takes it.
        write: writes files into a folder, which it makes where it is missing, and returns them.
            The same results give the same bytes.
        needs: packages that have to be installed.
        remedy: how to install them.
    """

    name: str
    write: Writer
    needs: tuple[str, ...] = ()
    remedy: str = ""


def report_formats() -> dict[str, ReportFormat]:
    """Every format there is by name, the suite's first."""
    return contributions("pytest_ckptbench_report_formats")


def check_formats(names: Sequence[str]) -> None:
    """Refuse formats that cannot be written, before the run rather than hours later.

    Raises:
        CkptbenchError: a format is unknown, or a package that it needs is not installed.
    """
    for each in _named(names, "--report"):
        require_packages(each.needs, each.name, where="--report", remedy=each.remedy)


def _named(names: Sequence[str], where: str) -> list[ReportFormat]:
    formats = report_formats()
    for name in names:
        if name not in formats:
            raise CkptbenchError(
                f"there is no format {name!r}{nearest(name, formats)}",
                where=where,
                remedy=f"Formats are {', '.join(formats)}.",
            )
    return [formats[name] for name in dict.fromkeys(names)]


def concluded(
    folder: Path, *, alpha: float, tolerance: Mapping[str, float], seed: int
) -> tuple[Result, Conclusions]:
    """A run's results, read back from its folder, and the conclusions from them.

    A report at the end of a run is therefore the one that `ckptbench report` makes of its folder.

    Raises:
        CkptbenchError: a file of the run cannot be read.
    """
    result = read(folder)
    return result, conclude(result.measurements, alpha=alpha, tolerance=tolerance, seed=seed)


def write_report(
    results: Sequence[Result], conclusions: Conclusions, folder: Path, formats: Sequence[str]
) -> tuple[Path, ...]:
    """Write the reports.

    | format | files |
    |---|---|
    | `html` | `report.html`, one page with everything in it; `plots/*.svg`, `plots/*.png` |
    | `md` | `report.md`, short, for a pull request |
    | `plots` | the plots alone |

    The same results give the same bytes. The folder is made where it is missing.

    Raises:
        CkptbenchError: a format is unknown, a package that it needs is not installed, or a file
            cannot be written.
    """
    written: dict[Path, None] = {}
    for each in _named(formats, "report"):
        written |= dict.fromkeys(each.write(results, conclusions, folder))
    return tuple(written)


def _html(results: Sequence[Result], conclusions: Conclusions, folder: Path) -> tuple[Path, ...]:
    from .html.page import html_report
    from .plots.figures import drawn_charts, write_drawings

    path, drawn = folder / "report.html", drawn_charts(results, conclusions)
    atomic_write_text(path, html_report(results, conclusions, drawn))
    return (path, *write_drawings(folder / "plots", drawn))


def _markdown(
    results: Sequence[Result], conclusions: Conclusions, folder: Path
) -> tuple[Path, ...]:
    from .markdown import markdown_report

    path = folder / "report.md"
    atomic_write_text(path, markdown_report(results, conclusions))
    return (path,)


def _plots(results: Sequence[Result], conclusions: Conclusions, folder: Path) -> tuple[Path, ...]:
    from .plots.figures import drawn_charts, write_drawings

    return write_drawings(folder / "plots", drawn_charts(results, conclusions))


FORMATS = (
    ReportFormat("html", _html, ("jinja2", "matplotlib"), INSTALL),
    ReportFormat("md", _markdown),
    ReportFormat("plots", _plots, ("matplotlib",), INSTALL),
)
