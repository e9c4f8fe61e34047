"""Programs that lack a package are counted."""

from __future__ import annotations

from ckptbench.reports.phrases import missing_packages_note

REASONS = (
    "fail: ModuleNotFoundError: No module named 'numpy'",
    "crash: case 0: ModuleNotFoundError: No module named 'numpy.linalg'",
    "fail: ModuleNotFoundError: No module named 'pandas' at test line 2",
    "fail: AssertionError at test line 3",
    "",
)


def test_the_note_names_packages_and_the_remedy() -> None:
    assert missing_packages_note(REASONS) == (
        "3 programs fail for lack of a package that is not in the sandbox: numpy (2), pandas (1); "
        "where it is installed, --exec-libraries numpy,pandas lets programs import it"
    )
    assert missing_packages_note(["fail: AssertionError"]) == ""
    many = [f"fail: ModuleNotFoundError: No module named 'm{i}'" for i in range(7)]
    assert "m4 (1) and 2 more; " in missing_packages_note(many)
