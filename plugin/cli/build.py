"""`ckptbench build real-k`: make a sample file from texts."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.errors import CkptbenchError
from .._util.overwrite import SAMPLES, check_output
from .._util.version import __version__
from ..config.parsers import positive_int
from .arguments import Commands, add_command, add_force, add_group, tell

if TYPE_CHECKING:
    from ckptbench.fixtures.datasets.real_k_builder import Counts

_PROGRESS_SECONDS = 2.0
_EXAMPLES = """\
  ckptbench build real-k --text passages.txt -o passages.jsonl
  ckptbench build real-k --tsv BoolQ_test.tsv --column Text --licence CC-BY-SA-4.0 -o boolq.jsonl
  ckptbench build real-k --hub klue --config mrc --split validation -o klue-mrc.jsonl
  ckptbench build real-k --hub wikimedia/wikipedia --limit-texts 50000 -o wikipedia.jsonl

then:
  pytest --pyargs ckptbench.benchmarks -k real --checkpoint=DIR --real-data=boolq.jsonl
"""


def register(commands: Commands) -> None:
    """Add the command and its options."""
    build = add_group(commands, "build", "build benchmark data from texts")
    kinds = build.add_subparsers(title="datasets", metavar="DATASET", required=True)
    real_k = add_command(
        kinds,
        "real-k",
        _real_k,
        "Build Real@K samples from Korean texts. Texts with a pronoun are dropped; each sample "
        "masks the second mention of a repeated noun.",
        help="Real@K samples: predict a noun at its second mention in a text",
        examples=_EXAMPLES,
    )
    corpus = real_k.add_argument_group("corpus (exactly one)").add_mutually_exclusive_group(
        required=True
    )
    for name, help in (
        ("text", "one text per line"),
        ("jsonl", "one JSON object per line, or an array of them"),
        ("tsv", "tab-separated, with a header line"),
        ("csv", "comma-separated, with a header line"),
    ):
        corpus.add_argument(f"--{name}", type=Path, metavar="FILE", help=help)
    corpus.add_argument(
        "--hub", metavar="NAME", help="Hugging Face dataset (streamed), or a folder with its files"
    )
    real_k.add_argument("--config", metavar="C", help="subset of the --hub dataset, such as mrc")
    real_k.add_argument("--split", metavar="S", help="split of the --hub dataset (default train)")
    real_k.add_argument(
        "--column",
        metavar="C",
        help="column with the text (default text; known for klue and wikimedia/wikipedia)",
    )
    real_k.add_argument("--name", metavar="N", help="prefix of all ids (default: OUT's name)")
    real_k.add_argument(
        "--licence", metavar="L", default="unknown", help="licence of the texts, for the header"
    )
    real_k.add_argument(
        "--source", metavar="S", help="source of the texts, for the header (default FILE's name)"
    )
    real_k.add_argument(
        "--limit-texts", type=positive_int, metavar="N", help="read only the first N texts"
    )
    real_k.add_argument(
        "--per-text",
        type=positive_int,
        metavar="N",
        default=3,
        help="maximum samples per text (default 3)",
    )
    real_k.add_argument(
        "-o", "--output", type=Path, metavar="OUT", required=True, help="sample file to write"
    )
    add_force(real_k)


def _real_k(arguments: argparse.Namespace) -> int:
    from ckptbench.fixtures.datasets import korean as morphology
    from ckptbench.fixtures.datasets import real_k, real_k_builder
    from ckptbench.fixtures.datasets.io import sample_file

    started = time.monotonic()
    output: Path = arguments.output
    name = _name(arguments.name, output)
    source, texts = _corpus(arguments)
    corpora = (arguments.text, arguments.jsonl, arguments.tsv, arguments.csv, arguments.hub)
    check_output(output, SAMPLES, map(Path, filter(None, corpora)), force=arguments.force)
    built = real_k_builder.build(
        islice(texts, arguments.limit_texts),
        name=name,
        per_text=arguments.per_text,
        progress=_progress(),
    )
    content = sample_file.SampleFile.of(
        built.samples,
        dataset=real_k.SHAPE.dataset,
        name=name,
        source=arguments.source or source,
        licence=arguments.licence,
        builder=f"ckptbench {__version__}, {morphology.version()}",
    )
    sample_file.write(output, content)
    tell(f"{built.counts}")
    if built.counts.sparse:
        tell(
            "note: hardly any text has a noun that recurs, as in headlines and single "
            "sentences; Real@K is meant for running text"
        )
    tell(f"wrote {output} in {time.monotonic() - started:.1f} s")
    return 0


def _corpus(arguments: argparse.Namespace) -> tuple[str, Iterator[str]]:
    """The source for the header, and the texts."""
    from ckptbench.fixtures.datasets.io import rows
    from ckptbench.fixtures.datasets.io.hub import HubDataset, hub_texts

    if arguments.hub is not None:
        dataset = HubDataset(arguments.hub, arguments.config or "", arguments.split or "train")
        texts = hub_texts(dataset, arguments.column or "")
        tell(f"reading {dataset}")
        folder = Path(arguments.hub)
        return folder.resolve().name if folder.is_dir() else str(dataset), texts
    for option in ("config", "split"):
        if getattr(arguments, option):
            raise CkptbenchError(f"--{option} goes with --hub only")
    if arguments.text is not None:
        if arguments.column:
            raise CkptbenchError("--column goes with --jsonl, --tsv, --csv and --hub only")
        return arguments.text.name, rows.line_texts(arguments.text)
    readers = {"jsonl": rows.json_rows, "tsv": rows.tsv_rows, "csv": rows.csv_rows}
    kind = next(kind for kind in readers if getattr(arguments, kind) is not None)
    path: Path = getattr(arguments, kind)
    return path.name, rows.column_texts(readers[kind](path), arguments.column or "text")


def _name(given: str | None, output: Path) -> str:
    """The start of every id: as given, or from the name of the output file."""
    if given is None:
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", output.stem).strip("-.") or "real-k"
    if not re.fullmatch(r"[A-Za-z0-9_./-]+", given):
        raise CkptbenchError(
            f"{given!r} holds other characters than A-Z a-z 0-9 _ . / -",
            where="--name",
            remedy="Ids become pytest node ids; choose another name.",
        )
    return given


def _progress() -> Callable[[Counts], None]:
    """Print the progress every two seconds."""
    last = time.monotonic()

    def report(counts: Counts) -> None:
        nonlocal last
        if time.monotonic() - last >= _PROGRESS_SECONDS:
            last = time.monotonic()
            tell(f"{counts.read:,} texts read, {counts.samples:,} samples")

    return report
