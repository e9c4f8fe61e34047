"""The causal engine beside lm-eval's Hugging Face backend: one model, the same requests, in turn.

    CKPTBENCH_DATA=... python tests/bench/lm_eval_speed.py [--model FOLDER] [--documents 60]

Three kinds of work: choices after a context (HellaSwag), one letter after five examples (MMLU), and
generated answers after eight examples (GSM8K). lm-eval runs each at several batch sizes and is
compared at its best. Without `--model`, a random-weight model in the shape of SmolLM2-135M (CPU) or
Qwen2.5-0.5B (GPU) is made, with a tokenizer trained on these texts. Prints seconds, ratios, the
largest relative difference of log likelihoods, how many choices are equal, and on a GPU the peak
memory. There each side does its work twice and the second time counts: the first loads kernels.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from gpu_causal_lm import SHAPES, make_model
from ratios import show

Pair = tuple[str, str]
DATA = Path(os.environ.get("CKPTBENCH_DATA", ""))
# What is asked of each kind of work, in times lm-eval's speed at its best batch size.
LEAST = {
    "cpu": {"hellaswag": 1.7, "mmlu": 4.0, "gsm8k": 1.5},
    "gpu": {"hellaswag": 3.0, "mmlu": 4.0, "gsm8k": 6.0},
}
STOPS = ("Question:", "</s>", "<|im_end|>")


def hellaswag(n: int) -> list[Pair]:
    """Four endings after each context."""
    lines = (DATA / "hellaswag" / "hellaswag_val_1000.jsonl").read_text("utf-8").splitlines()
    pairs = []
    for row in map(json.loads, lines[:n]):
        ending = row["ctx_b"][:1].upper() + row["ctx_b"][1:]
        context = f"{row['activity_label']}: {row['ctx_a']} {ending}"
        pairs += [(context, f" {ending}") for ending in row["endings"]]
    return pairs


def mmlu(n: int) -> list[Pair]:
    """Four letters after each question, behind the subject's five examples; subject by subject."""
    pairs: list[Pair] = []
    for file in sorted((DATA / "mmlu" / "test").glob("*_test.csv")):
        subject = file.name.removesuffix("_test.csv")
        with (DATA / "mmlu" / "dev" / f"{subject}_dev.csv").open(encoding="utf-8") as lines:
            examples = "".join(
                f"{_question(row)} {row[5]}\n\n" for row in list(csv.reader(lines))[:5]
            )
        head = f"The following are multiple choice questions about {subject.replace('_', ' ')}.\n\n"
        with file.open(encoding="utf-8") as lines:
            for row in csv.reader(lines):
                pairs += [(head + examples + _question(row), f" {letter}") for letter in "ABCD"]
        if len(pairs) >= 4 * n:
            break
    return pairs[: 4 * n]


def _question(row: Sequence[str]) -> str:
    choices = "".join(f"{letter}. {text}\n" for letter, text in zip("ABCD", row[1:5], strict=True))
    return f"{row[0]}\n{choices}Answer:"


def gsm8k(n: int) -> list[str]:
    """Questions behind eight worked examples."""
    lines = (DATA / "gsm8k" / "test.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    examples = "".join(f"Question: {r['question']}\nAnswer: {r['answer']}\n\n" for r in rows[-8:])
    return [f"{examples}Question: {row['question']}\nAnswer:" for row in rows[:n]]


def make_tokenizer(folder: Path, vocabulary: int) -> None:
    """Replace a model's tokenizer by one whose tokens are as long as those of real ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=20_000,
        special_tokens=["<pad>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [context + text for context, text in hellaswag(1000)] + gsm8k(1000)
    tokenizer.train_from_iterator(texts + [context for context, _ in mmlu(1000)[::4]], trainer)
    # The model has many more rows, as most have more than their training data showed.
    written = json.loads(tokenizer.to_str())
    entries = written["model"]["vocab"]
    entries |= {f"w{n}": n for n in range(len(entries), vocabulary)}
    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(written)),
        pad_token="<pad>",
        eos_token="</s>",
    ).save_pretrained(folder)


class Clock:
    """Seconds and peak memory of a call."""

    def __init__(self, on_gpu: bool, cpu_time: bool) -> None:
        self._on_gpu = on_gpu
        self._now = time.process_time if cpu_time else time.perf_counter

    def time(self, run: Callable[[], Any]) -> tuple[Any, float, float]:
        """The result, seconds, and GiB of the GPU at most beside what was there before."""
        import torch

        if self._on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        start = self._now()
        result = run()
        if self._on_gpu:
            torch.cuda.synchronize()
        seconds = self._now() - start
        return result, seconds, torch.cuda.max_memory_allocated() / 2**30 if self._on_gpu else 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each kind of work on both sides and print the table."""
    import torch

    from ckptbench import Generate, LogLikelihood
    from ckptbench.checkpoints.kind import LoadOptions
    from ckptbench.fixtures.checkpoints.huggingface import load_causal_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve
    from ckptbench.fixtures.engines.causal.engine import CausalLMEngine

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", help="Hugging Face folder")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--generated", type=int, default=0, help="GSM8K questions; 0: a quarter")
    parser.add_argument("--tokens", type=int, default=128, help="generated for each at most")
    parser.add_argument("--batches", default="1,8,32", help="of lm-eval")
    parser.add_argument("--generated-batches", default="", help="of lm-eval for GSM8K, if others")
    parser.add_argument("--work", default="hellaswag,mmlu,gsm8k")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--cpu-time", action="store_true", help="processor seconds, not wall time")
    chosen = parser.parse_args(arguments)
    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    on_gpu = chosen.device.startswith("cuda")
    clock = Clock(on_gpu, chosen.cpu_time)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(chosen.model or name)
        if not chosen.model:
            shape = "0.5B" if on_gpu else "135M"
            make_model(folder, shape)
            make_tokenizer(folder, SHAPES[shape]["vocab_size"])
        dtype = "bf16" if on_gpu else "fp32"
        loaded = load_causal_lm(
            resolve(str(folder)), LoadOptions(device=chosen.device, dtype=dtype)
        )
    device = torch.cuda.get_device_name(0) if on_gpu else f"CPU, {torch.get_num_threads()} threads"
    print(f"{device}, torch {torch.__version__}, {dtype}", flush=True)
    with torch.inference_mode():  # so that neither side pays for the device's own start
        loaded.model(torch.ones((8, 64), dtype=torch.long, device=loaded.device))
    rows = []
    for work in chosen.work.split(","):
        if work == "gsm8k":
            prompts = gsm8k(chosen.generated or max(1, chosen.documents // 4))
            asked: list[Any] = [
                Generate(prompt, stop=STOPS, max_tokens=chosen.tokens, alone=True)
                for prompt in prompts
            ]
            theirs: list[Any] = [
                (prompt, {"until": list(STOPS), "max_gen_toks": chosen.tokens, "do_sample": False})
                for prompt in prompts
            ]
        else:
            theirs = (hellaswag if work == "hellaswag" else mmlu)(chosen.documents)
            asked = [LogLikelihood(*pair) for pair in theirs]
        engine = CausalLMEngine(loaded)
        first, cold_s, memory = clock.time(lambda e=engine, a=asked: dict(e.answer(a)))
        _, took_s, _ = clock.time(lambda e=engine, a=asked: dict(e.answer(a)))
        del engine
        print(f"{work}: here {took_s:.2f} s ({cold_s:.2f} cold), {memory:.1f} GiB", flush=True)
        best: tuple[float, str, float] | None = None
        answers: Any = None
        sizes = chosen.generated_batches if work == "gsm8k" else chosen.batches
        for size in (sizes or chosen.batches).split(","):
            try:
                answers, cold, peak = _of_lm_eval(loaded, work, theirs, size, clock)
                _, took, _ = (
                    _of_lm_eval(loaded, work, theirs, size, clock) if on_gpu else (0, cold, 0)
                )
            except torch.OutOfMemoryError:
                print(f"{work}: lm-eval, batch {size}: out of memory", flush=True)
                continue
            print(
                f"{work}: lm-eval, batch {size}: {took:.2f} s ({cold:.2f}), {peak:.1f} GiB",
                flush=True,
            )
            if best is None or took < best[0]:
                best = took, size, peak
        if best is None:
            continue
        rows.append(
            (
                work,
                len(asked),
                took_s if on_gpu else cold_s,
                memory,
                best,
                _agreement(work, first, answers),
            )
        )
    for work, n, took, memory, (best_s, size, peak), agreement in rows:
        gib = f"; {memory:.1f} against {peak:.1f} GiB" if on_gpu else ""
        beside = f"{took:.2f} s against {best_s:.2f} s at batch {size}"
        show(
            f"{work}, {n:,} requests, {beside}{gib}; {agreement}: times lm-eval",
            best_s / took, LEAST["gpu" if on_gpu else "cpu"][work], at_least=True,
        )  # fmt: skip


def _of_lm_eval(
    loaded: Any, work: str, requests: list[Any], size: str, clock: Clock
) -> tuple[list[Any], float, float]:
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    batch: Any = int(size) if size.isdigit() else size
    lm: Any = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=batch)
    kind = "generate_until" if work == "gsm8k" else "loglikelihood"
    instances = [
        Instance(request_type=kind, doc={}, arguments=request, idx=index)  # type: ignore[arg-type]
        for index, request in enumerate(requests)
    ]
    return clock.time(lambda: getattr(lm, kind)(instances, disable_tqdm=True))


def _agreement(work: str, ours: Any, theirs: list[Any]) -> str:
    n = len(theirs)
    if work == "gsm8k":
        same = sum(ours[index].text == theirs[index] for index in range(n))
        return f"{same} of {n} texts equal"
    values = [ours[index].logprob for index in range(n)]
    difference = max(
        abs(v - t[0]) / max(1.0, abs(t[0])) for v, t in zip(values, theirs, strict=True)
    )
    best = [
        [max(range(4), key=lambda k, s=start, of=of: of[s + k]) for start in range(0, n, 4)]
        for of in (values, [t[0] for t in theirs])
    ]
    same = sum(a == b for a, b in zip(*best, strict=True))
    return f"differ by {difference:.0e}, {same} of {n // 4} choices equal"


if __name__ == "__main__":
    main()
