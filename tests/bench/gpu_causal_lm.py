"""How busy a GPU is while it writes: 164 prompts x 20 trials x 256 tokens of a 0.5B model.

    python tests/bench/gpu_causal_lm.py [--problems 164] [--trials 20] [--tokens 256]

Makes a random-weight model in the shape of Qwen2-0.5B with a byte-level tokenizer, and problems in
HumanEval's format. Then, on the same GPU, one after the other:

1. transformers' own `generate`, called for each of a few problems with all its trials
   (`num_return_sequences`), after one call to warm up; the median of its rates;
2. the engine alone, which gets all trials of all problems;
3. with `--lora RANK`, the engine with an adapter on the same model;
4. `pytest benchmarks/test_humaneval.py` in a process of its own: sampling, stop strings, storage,
   and the programs in the sandbox. Its items phase begins with the first item (the model is loaded
   in it) and ends with the last verdict.

Rates are new tokens a second; those of pytest are counted in the run's own sample file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from ratios import show

# Sizes of Qwen2.5-0.5B, of SmolLM2-135M, and of a model to try a script with.
SHAPES: dict[str, dict[str, Any]] = {
    "0.5B": {
        "vocab_size": 151_936, "hidden_size": 896, "num_hidden_layers": 24,
        "intermediate_size": 4864, "num_attention_heads": 14, "num_key_value_heads": 2,
    },
    "135M": {
        "vocab_size": 49_152, "hidden_size": 576, "num_hidden_layers": 30,
        "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3,
    },
    "tiny": {
        "vocab_size": 2000, "hidden_size": 56, "num_hidden_layers": 2,
        "intermediate_size": 64, "num_attention_heads": 14, "num_key_value_heads": 2,
    },
}  # fmt: skip
SHORTEST, MEDIAN, LONGEST, SPREAD = 60, 150, 400, 0.5
STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
ROOT = Path(__file__).parents[2]
TEMPERATURE = 0.8

# A pytest plugin that notes when the items begin and end, and what loading takes of that.
CLOCK = """
import json, os, time
import pytest

TOOK = {}

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop():
    start = time.time()
    result = yield
    TOOK["items"] = time.time() - start
    with open(os.environ["BENCH_CLOCK"], "w") as file:
        json.dump(TOOK, file)
    return result

@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    start = time.time()
    result = yield
    TOOK[fixturedef.argname] = time.time() - start
    return result
"""


def make_model(folder: Path, shape: str) -> None:
    """Save a random-weight model of one of the `SHAPES`, and a tokenizer of bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes = SHAPES[shape]
    vocabulary = sizes["vocab_size"]
    # Bytes, which prompts are made of, and words that only the model writes.
    entries = ["<pad>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    entries += [f"w{number}" for number in range(len(entries), vocabulary)]
    tokenizer = Tokenizer(models.BPE({entry: i for i, entry in enumerate(entries)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>"
    ).save_pretrained(folder)
    config = Qwen2Config(
        **{**sizes, "vocab_size": vocabulary + 8}, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def make_lora(base: Path, folder: Path, rank: int) -> Path:
    """Save an adapter on all linear layers of the model, its weights drawn at random."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16)
    lora = LoraConfig(r=rank, target_modules="all-linear", init_lora_weights=False)
    get_peft_model(model, lora).save_pretrained(folder)
    return folder


def make_problems(n: int) -> list[dict[str, str]]:
    """Problems in HumanEval's format, as long in tokens (bytes) as those of a code benchmark."""
    draw = np.random.default_rng(0)
    lengths = np.exp(draw.normal(np.log(MEDIAN), SPREAD, n)).astype(int)
    letters = list("abcdefghijklmnopqrstuvwxyz ")
    problems = []
    for number, length in enumerate(np.clip(lengths, SHORTEST, LONGEST)):
        head, tail = f'def f{number}(x):\n    """', '"""\n'
        words = "".join(draw.choice(letters, max(1, length - len(head) - len(tail))))
        problems.append(
            {
                "task_id": f"Bench/{number}",
                "prompt": f"{head}{words}{tail}",
                "entry_point": f"f{number}",
                "canonical_solution": f"    return x + {number}\n",
                "test": f"def check(candidate):\n    assert candidate(1) == {number + 1}\n",
            }
        )
    return problems


def engine_rate(loaded: Any, prompts: Sequence[str], chosen: argparse.Namespace) -> float:
    """New tokens a second of the engine, from the first request to the last answer."""
    from ckptbench import Generate, Generated
    from ckptbench.fixtures.engines.causal.engine import CausalLMEngine

    engine = CausalLMEngine(loaded, chosen.batch_tokens or "auto")
    requests = [
        Generate(
            prompt, stop=STOPS, max_tokens=chosen.tokens, temperature=TEMPERATURE,
            top_p=chosen.top_p, seed=1000 * number + trial,
        )
        for number, prompt in enumerate(prompts)
        for trial in range(chosen.trials)
    ]  # fmt: skip
    start = time.perf_counter()
    answers = [answer for _, answer in engine.answer(requests)]
    seconds = time.perf_counter() - start
    assert all(isinstance(answer, Generated) for answer in answers)
    return sum(getattr(answer, "tokens", 0) for answer in answers) / seconds


def generate_rate(loaded: Any, prompt: str, chosen: argparse.Namespace) -> float:
    """New tokens a second of `generate`, called for a problem with all its trials."""
    import torch

    inputs = loaded.tokenizer(prompt, return_tensors="pt").to(loaded.device)
    start = time.perf_counter()
    output = loaded.model.generate(
        input_ids=inputs.input_ids, attention_mask=inputs.attention_mask,
        max_new_tokens=chosen.tokens, do_sample=True, temperature=TEMPERATURE, top_p=chosen.top_p,
        top_k=0, num_return_sequences=chosen.trials, pad_token_id=0,
    )  # fmt: skip
    if loaded.device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return int((output[:, inputs.input_ids.shape[1] :] != 0).sum()) / seconds


def pytest_run(
    folder: Path, problems: Sequence[dict[str, str]], chosen: argparse.Namespace
) -> dict[str, float]:
    """Tokens, and seconds of the items phase and of the whole process."""
    data = folder / "problems.jsonl"
    data.write_text("".join(json.dumps(problem) + "\n" for problem in problems))
    (folder / "bench_clock.py").write_text(CLOCK)
    clock = folder / "clock.json"
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))
    command = [
        sys.executable, "-m", "pytest", "benchmarks/test_humaneval.py", "-q", "-p", "bench_clock",
        "-p", "no:cacheprovider", f"--checkpoint={folder / 'model'}", f"--humaneval-data={data}",
        f"--num-samples={chosen.trials}", f"--temperature={TEMPERATURE}",
        f"--top-p={chosen.top_p}", f"--max-tokens={chosen.tokens}", "--k", "humaneval=1",
        f"--device={chosen.device}", "--dtype=bf16", f"--results-dir={folder / 'results'}",
        "--gate=off", *(["--unsafe-exec"] if chosen.unsafe_exec else []),
    ]  # fmt: skip
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, "BENCH_CLOCK": str(clock)},
    )  # fmt: skip
    seconds = time.perf_counter() - start
    print("\n".join(done.stdout.splitlines()[-25:]), done.stderr[-2000:], sep="\n", flush=True)
    tokens = answers = 0
    for file in (folder / "results").rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            response = json.loads(line).get("response") or {}
            tokens += int(response.get("tokens", 0))
            answers += bool(response)
    return {
        "tokens": tokens,
        "answers": answers,
        "whole_s": seconds,
        **{f"{part}_s": took for part, took in json.loads(clock.read_text()).items()},
    }


def bare_start(folder: Path, device: str) -> float:
    """Seconds that a process takes to import torch, load the model and run it once."""
    from start_up import BARE, seconds

    (folder / "bare.py").write_text(BARE)
    command = [sys.executable, "bare.py", str(folder / "model"), device]
    return seconds(command, folder, to_mark=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print all rates."""
    import torch

    from ckptbench.checkpoints.kind import LoadOptions
    from ckptbench.fixtures.checkpoints.adapter import adapted
    from ckptbench.fixtures.checkpoints.huggingface import load_causal_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=164)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--batch-tokens", type=int, default=0, help="of the engine; 0 for auto")
    parser.add_argument("--compared", type=int, default=5, help="problems given to generate")
    parser.add_argument("--lora", type=int, default=0, help="rank of an adapter to measure too")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="a tiny model, to try the script")
    parser.add_argument("--unsafe-exec", action="store_true", help="see pytest's --unsafe-exec")
    parser.add_argument("--skip", default="", help="engine, pytest")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder / "model", "tiny" if chosen.small else "0.5B")
        loaded = load_causal_lm(
            resolve(str(folder / "model")), LoadOptions(device=chosen.device, dtype="bf16")
        )
        on_gpu = loaded.device.type == "cuda"
        device = torch.cuda.get_device_name(loaded.device) if on_gpu else "CPU"
        problems = make_problems(chosen.problems)
        prompts = [problem["prompt"] for problem in problems]
        generate_rate(loaded, prompts[0], chosen)
        rates = [generate_rate(loaded, prompt, chosen) for prompt in prompts[: chosen.compared]]
        plain = statistics.median(rates)
        rows = [(f"generate a problem ({min(rates):,.0f}-{max(rates):,.0f})", plain)]
        if "engine" not in chosen.skip:
            rows.append(("engine, first call", engine_rate(loaded, prompts, chosen)))
            rows.append(("engine, second call", engine_rate(loaded, prompts, chosen)))
        if chosen.lora:
            with adapted(
                loaded, make_lora(folder / "model", folder / "lora", chosen.lora)
            ) as whole:
                rate = engine_rate(whole, prompts, chosen)
            rows.append((f"engine, LoRA of rank {chosen.lora}", rate))
        del loaded
        if on_gpu:
            torch.cuda.empty_cache()
        if "pytest" not in chosen.skip:
            run = pytest_run(folder, problems, chosen)
            print(", ".join(f"{what} {number:,.1f}" for what, number in run.items()))
            answering = run["items_s"] - run["checkpoint_s"]
            parts = {"from the end of loading": answering, "whole process": run["whole_s"]}
            for part, took in parts.items():
                rows.append((f"pytest, {part} ({took:.1f} s)", run["tokens"] / took))
            bare = bare_start(folder, chosen.device)
    print(f"{chosen.problems} prompts x {chosen.trials} trials x {chosen.tokens} tokens, sampled")
    print(f"{device}, torch {torch.__version__}")
    for what, rate in rows:
        print(f"  {what:<36} {rate:12,.0f} tokens/s  {rate / plain:7.1f} times")
    for what, rate in rows[1:]:
        show(f"{what}, {rate:,.0f} tokens/s: times generate, problem by problem", rate / plain)
    if not chosen.skip and not chosen.small:
        engine = run["tokens"] / rows[1][1]
        show("pytest, from the end of loading: times 70,000 tokens/s",
             run["tokens"] / answering / 70_000, 1, at_least=True)  # fmt: skip
        show(f"pytest, whole process ({run['whole_s']:.1f} s): times a bare start ({bare:.1f} s) "
             f"and the engine's first call ({engine:.1f} s)",
             run["whole_s"] / (bare + engine), 1.3)  # fmt: skip


if __name__ == "__main__":
    main()
