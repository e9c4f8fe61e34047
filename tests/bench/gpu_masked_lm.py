"""How busy a GPU is: 1,600 texts through `pytest benchmarks` on a DeBERTa-v2-base.

    python tests/bench/gpu_masked_lm.py [--texts 1600] [--device cuda]

Makes a random-weight DeBERTa-v2-base (12 layers, hidden size 768, vocabulary 130,000, relative
positions) with a word-level tokenizer, and texts of 30 to 2,048 tokens (lognormal around 300), as
Real@K samples with one-token answers. Then two pytest sessions ask all of them under
`real/whole-word`: in batches, and one at a time (`--batch-tokens 1`), each in a process of its
own on the same GPU. Engine time is what the run store noted; the other span goes from the end of
model loading to the last report.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from ratios import show

VOCABULARY, LAYERS, WIDTH, HEADS = 130_000, 12, 768, 12
SHORTEST, MEDIAN, LONGEST, SPREAD = 30, 300, 2048, 0.8

# Notes when the engine is there and when an item last reported.
CLOCK = """
import json, os, time
import pytest

seen = {}


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    result = yield
    if fixturedef.argname in ("checkpoint", "engine"):
        seen[fixturedef.argname] = time.time()
    return result


def pytest_runtest_logreport(report):
    seen["last"] = time.time()


def pytest_unconfigure(config):
    with open(os.environ["CLOCK_FILE"], "w") as file:
        json.dump(seen, file)
"""


def make_model(folder: Path) -> None:
    """Save the random-weight model and its tokenizer."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import DebertaV2Config, DebertaV2ForMaskedLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    words = {word: i for i, word in enumerate([*special, *map(_word, range(VOCABULARY - 5))])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        unk_token="[UNK]", mask_token="[MASK]", model_max_length=LONGEST,
    ).save_pretrained(folder)  # fmt: skip
    config = DebertaV2Config(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, intermediate_size=4 * WIDTH, max_position_embeddings=512,
        relative_attention=True, position_buckets=256, max_relative_positions=-1,
        norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"],
        position_biased_input=False, type_vocab_size=0, pad_token_id=0,
    )  # fmt: skip
    DebertaV2ForMaskedLM(config).to(torch.bfloat16).save_pretrained(folder)


def make_samples(path: Path, n: int) -> None:
    """Write texts whose answer stands in their first third and again in their last."""
    from ckptbench import Sample
    from ckptbench.fixtures.datasets.io import sample_file

    draw = np.random.default_rng(0)
    lengths = np.exp(draw.normal(np.log(MEDIAN), SPREAD, n)).astype(int)
    rows = []
    for i, length in enumerate(np.clip(lengths, SHORTEST, LONGEST) - 2):
        words = [_word(int(k)) for k in draw.integers(0, VOCABULARY - 5, length)]
        first, second = length // 3, length - 1 - length // 4
        words[second] = words[first]
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        spans = [[int(starts[p]), int(starts[p]) + len(words[p])] for p in (first, second)]
        fields = {
            "text": " ".join(words), "answer": words[first], "first": spans[0], "second": spans[1],
        }  # fmt: skip
        rows.append(Sample(f"random-{i:05}", fields))
    content = sample_file.SampleFile.of(
        rows, dataset="real-k", name="random", source="random words", licence="CC0-1.0",
        builder="tests/bench/gpu_masked_lm.py",
    )  # fmt: skip
    sample_file.write(path, content)


def _word(number: int) -> str:
    return f"w{number}"


def ask(folder: Path, benchmarks: Path, run_id: str, *options: str) -> dict[str, float]:
    """Run a session; seconds of engine time and from loading to the last report."""
    (folder / "bench_clock.py").write_text(CLOCK, encoding="utf-8")
    clock = folder / f"{run_id}.json"
    command = [
        sys.executable, "-m", "pytest", str(benchmarks / "test_real_k.py"), "-q",
        "-p", "bench_clock", "-p", "no:cacheprovider", f"--rootdir={folder}",
        f"--checkpoint={folder / 'model'}", f"--real-data={folder / 'texts.jsonl'}",
        "--protocol=real=real/whole-word", "--no-resume", f"--run-id={run_id}",
        f"--results-dir={folder / 'results'}", *options,
    ]  # fmt: skip
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.DEVNULL,
        env={**os.environ, "CLOCK_FILE": str(clock), "PYTHONPATH": path},
    )  # fmt: skip
    summary = json.loads((folder / "results" / run_id / "summary.json").read_text())
    (checkpoint,) = summary["checkpoints"]
    (result,) = checkpoint["benchmarks"]
    seen = json.loads(clock.read_text())
    return {
        "engine_s": checkpoint["seconds"],
        "to_last_report_s": seen["last"] - seen["checkpoint"],
        "scored": result["coverage"]["scored"],
        "real@5": result["scores"][1]["value"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    import ckptbench.benchmarks

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=1600)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeat", type=int, default=2)
    chosen = parser.parse_args(arguments)
    benchmarks = Path(next(iter(ckptbench.benchmarks.__path__)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder / "model")
        make_samples(folder / "texts.jsonl", chosen.texts)
        device = f"--device={chosen.device}"
        rows = [
            (f"in batches, run {i + 1}", ask(folder, benchmarks, f"batches{i}", device))
            for i in range(chosen.repeat)
        ]
        alone = ask(folder, benchmarks, "alone", device, "--batch-tokens=1")
        print(f"{chosen.texts:,} texts of {SHORTEST} to {LONGEST:,} tokens")
        print(f"  {'':20} {'engine s':>9} {'to last report s':>17} {'scored':>7}")
        for title, row in [*rows, ("one at a time", alone)]:
            print(
                f"  {title:20} {row['engine_s']:9.2f} {row['to_last_report_s']:17.2f} "
                f"{row['scored']:7,.0f}"
            )
        best = min(row["engine_s"] for _, row in rows)
        show(
            f"{chosen.texts:,} masked texts, engine, {best:.1f} s: times faster than one at a time",
            alone["engine_s"] / best,
        )


if __name__ == "__main__":
    main()
