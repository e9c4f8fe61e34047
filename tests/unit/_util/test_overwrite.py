"""What a command may replace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench._util.overwrite import COMPARISON, SAMPLES, check_output

OURS = '{"format": "ckptbench.samples/1", "n": 0}\n'


def link(kind: str, target: Path, folder: Path) -> Path:
    path = folder / "link"
    if kind == "symbolic link":
        path.symlink_to(target)
    elif kind == "hard link":
        os.link(target, path)
    else:
        path = folder / ".." / folder.name / target.name
    return path


@pytest.mark.parametrize("text", ["a text", OURS], ids=["a corpus", "a sample file"])
@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "other spelling"])
def test_an_input_is_never_replaced_by_whatever_name(tmp_path: Path, kind: str, text: str) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(text)
    output = link(kind, corpus, tmp_path)
    for inputs in ([corpus], [tmp_path]):
        with pytest.raises(CkptbenchError, match="is read by this command"):
            check_output(output, SAMPLES, inputs, force=True)


def test_of_what_is_there_only_our_own_kind_is_replaced_without_force(tmp_path: Path) -> None:
    output = tmp_path / "out"
    check_output(output, SAMPLES)
    output.write_text(OURS)
    check_output(output, SAMPLES)
    with pytest.raises(CkptbenchError, match="is not a comparison"):
        check_output(output, COMPARISON)
    check_output(output, COMPARISON, force=True)
    output.write_text("")
    check_output(output, COMPARISON)


def test_an_earlier_output_beside_what_is_read_is_replaced(tmp_path: Path) -> None:
    output = tmp_path / "comparison.json"
    output.write_text('{\n  "format": "ckptbench.comparison/1"\n}')
    check_output(output, COMPARISON, [tmp_path])
