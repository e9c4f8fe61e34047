"""What the run store costs: 100,000 answers found again by a resumed run, and bytes on disk.

    python tests/bench/store.py

Seconds to open the store and to find every answer in it, beside reading the same texts from a plain
file, and the store's bytes for each byte of its texts. The exit status is 1 where opening takes 2
seconds or the store has 1.5 times the bytes of its texts.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from ckptbench import Filled, Generate, Generated
from ckptbench.api.requests import Answer
from ckptbench.results.answers import encode, keys_of
from ckptbench.results.layout import STORE
from ckptbench.results.store import RunStore

ANSWERS = 100_000
OPEN_S, BYTES = 2.0, 1.5
WORDS = ["return", "value", "for", "index", "in", "range", "items", "result", "한국어", "말"]


def generated(rng: random.Random) -> Answer:
    """A program of some lines."""
    return Generated(" ".join(rng.choices(WORDS, k=60)), 80, "eos")


def filled(rng: random.Random) -> Answer:
    """Five candidates of a mask."""
    return Filled(
        tuple(rng.choices(WORDS, k=5)), tuple(rng.uniform(-9, 0) for _ in range(5)), None, 2, -3.25
    )


def measured(folder: Path, make: object) -> tuple[float, float, float, float]:
    """Seconds to open, to find all and to read a plain file; bytes for each byte of the texts."""
    rng = random.Random(0)
    key_of = keys_of("f" * 64, {"seq_len": 512}, "humaneval/complete", 0, 1, 2)
    keys = [key_of(f"{n:016x}", 0, Generate(f"prompt {n}")) for n in range(ANSWERS)]
    texts = [encode(make(rng)) for _ in keys]  # type: ignore[operator]
    store = RunStore(folder)
    for start in range(0, ANSWERS, 2048):
        part = range(start, min(start + 2048, ANSWERS))
        store.serve([(n, 0, keys[n], texts[n]) for n in part])
    store.close()
    size = (folder / STORE).stat().st_size / sum(len(text.encode()) for text in texts)
    plain = folder / "plain.jsonl"
    plain.write_text("\n".join(texts), encoding="utf-8")
    start_s = time.perf_counter()
    store = RunStore(folder)
    open_s = time.perf_counter() - start_s
    found = store.find(keys)
    find_s = time.perf_counter() - start_s
    assert None not in found
    store.close()
    start_s = time.perf_counter()
    for line in plain.read_text(encoding="utf-8").splitlines():
        json.loads(line)
    return open_s, find_s, time.perf_counter() - start_s, size


def main() -> int:
    """Print a line for each kind of answer."""
    over = False
    for make in (generated, filled):
        with tempfile.TemporaryDirectory() as folder:
            open_s, find_s, plain_s, size = measured(Path(folder), make)
        over |= open_s >= OPEN_S or size >= BYTES
        print(
            f"{ANSWERS:,} {make.__name__}: opened in {open_s:.3f} s, all found in {find_s:.2f} s "
            f"({find_s / plain_s:.1f} times a plain file), {size:.2f} bytes for a byte of text"
        )
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
