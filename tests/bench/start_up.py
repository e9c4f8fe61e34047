"""From the start of a process to its first answer, beside a bare script that runs the model once.

    python tests/bench/start_up.py [--model FOLDER] [--repeat 3]

Both read the same checkpoint, in turns, in processes of their own. The bare script imports torch,
calls `from_pretrained` and runs the model once. The suite is one benchmark with one sample, a log
likelihood; its clock stops at the item's report. Without `--model`, a random-weight model in the
shape of Qwen2.5-0.5B is made. Prints medians and ratios, also of `pytest --help` and of collecting
64,000 items.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gpu_causal_lm import make_model
from ratios import show

BARE = """
import sys, time
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
dtype = torch.bfloat16 if sys.argv[2] == "cuda" else torch.float32
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=dtype).to(sys.argv[2]).eval()
ids = tokenizer("The market is loud.", return_tensors="pt")["input_ids"].to(sys.argv[2])
with torch.inference_mode():
    model(ids).logits[0, -1].float().log_softmax(-1).max().item()
print("AT", time.time())
"""

SUITE = """
import time
from ckptbench import EvalProtocol, LogLikelihood, Sample, first_choice, samples

ASKED = EvalProtocol("one/plain", lambda s, how: LogLikelihood("The market is", " loud."))

@samples([Sample("one", {})], protocol=ASKED, score=first_choice())
def test_one(response, k):
    print("AT", time.time(), flush=True)
    assert response.greedy
"""

MANY = """
from ckptbench import EvalProtocol, LogLikelihood, Sample, first_choice, samples

ASKED = EvalProtocol("many/plain", lambda s, how: LogLikelihood("a", " b"))

ROWS = [Sample(str(i), {"number": i}) for i in range(64_000)]

@samples(ROWS, protocol=ASKED, score=first_choice())
def test_many(response, k):
    assert response.greedy
"""


def seconds(command: Sequence[str], folder: Path, *, to_mark: bool) -> float:
    """From the start of a process to its mark, or to its end."""
    start = time.time()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    end = time.time()
    if not to_mark and not done.returncode:
        return end - start
    marks = [line.split() for line in done.stdout.splitlines() if line.startswith("AT ")]
    if not marks:
        raise SystemExit(done.stdout + done.stderr)
    return float(marks[0][1]) - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--skip-pytest", action="store_true", help="the first table only")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = chosen.model.resolve() if chosen.model else folder / "model"
        if not chosen.model:
            make_model(model, "0.5B" if chosen.device == "cuda" else "135M")
        (folder / "bare.py").write_text(BARE)
        (folder / "test_one.py").write_text(SUITE)
        (folder / "test_many.py").write_text(MANY)
        (folder / "test_plain.py").write_text("def test_plain():\n    pass\n")
        pytest = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
        device = f"--device={chosen.device}"
        commands = {
            "bare": [sys.executable, "bare.py", str(model), chosen.device],
            "suite": [
                *pytest,
                "test_one.py",
                f"--checkpoint={model}",
                device,
                "--gate=off",
                "--no-resume",
            ],
        }
        bare, suite = _medians(commands, folder, chosen.repeat, to_mark=True)
        show("first answer: times a bare script", suite / bare, 1.3)
        if chosen.skip_pytest:
            return
        without = [*pytest, "-p", "no:ckptbench"]
        others = {
            "plain --help": [*without, "--help"],
            "--help": [*pytest, "--help"],
            "plain, 1 item": [*without, "--collect-only", "test_plain.py"],
            "64,000 items": [*pytest, "--collect-only", "-qq", "test_many.py"],
        }
        plain, ours, _, collecting = _medians(others, folder, chosen.repeat, to_mark=False)
        show(f"--help, {1000 * (ours - plain):.0f} ms more: times plain pytest", ours / plain)
        show(
            f"collecting 64,000 items, {collecting:.1f} s: times `pytest --help`",
            collecting / plain,
        )


def _medians(
    commands: dict[str, list[str]], folder: Path, repeat: int, *, to_mark: bool
) -> list[float]:
    """Seconds of each command; they take turns, and the first round does not count."""
    took: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat + 1):
        for name, command in commands.items():
            took[name].append(seconds(command, folder, to_mark=to_mark))
    medians = [statistics.median(values[1:]) for values in took.values()]
    for name, median in zip(commands, medians, strict=True):
        print(f"  {name:<16} {median:7.2f} s", flush=True)
    return medians


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
