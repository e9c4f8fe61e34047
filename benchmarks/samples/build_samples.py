"""Rebuild the shipped samples from their sources, which lie beside this script.

    python benchmarks/samples/build_samples.py

`passages_ko.txt` (one passage a line) becomes `real_k.jsonl`; `ko_lambada.tsv` (a header line,
then text, answer and candidate) becomes `ko_lambada.jsonl`. The texts were written for this suite
and are under its licence.
"""

from __future__ import annotations

from pathlib import Path

from ckptbench import __version__
from ckptbench.cli import main
from ckptbench.fixtures.datasets import lambada
from ckptbench.fixtures.datasets.io import sample_file

HERE = Path(__file__).parent
LICENCE = "Apache-2.0"
SOURCE = "written for ckptbench"


def build_real_k(output: Path) -> None:
    """Real@K samples from the passages, with the command every user has."""
    command = ["build", "real-k", "--text", str(HERE / "passages_ko.txt"), "-o", str(output)]
    about = ["--name", "passages", "--licence", LICENCE, "--source", f"passages_ko.txt, {SOURCE}"]
    if status := main([*command, *about]):
        raise SystemExit(status)


def build_ko_lambada(output: Path) -> None:
    """Ko-LAMBADA rows from the table, under a header."""
    content = sample_file.SampleFile.of(
        lambada.load_blanks(HERE / "ko_lambada.tsv"),
        dataset=lambada.BLANKS.dataset,
        name="ko-lambada",
        source=f"ko_lambada.tsv, {SOURCE}",
        licence=LICENCE,
        builder=f"ckptbench {__version__}",
    )
    sample_file.write(output, content)


if __name__ == "__main__":
    build_real_k(HERE / "real_k.jsonl")
    build_ko_lambada(HERE / "ko_lambada.jsonl")
