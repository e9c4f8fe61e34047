"""Train the demo masked language model and keep checkpoints of its training.

    python benchmarks/demo/train_demo_mlm.py [--output FOLDER]

A ModernBERT of a million parameters learns to fill in masked nouns of made-up passages (see
`grammar.py`). It exists so that the suite can be tried, and tested, without any download: its
scores are far from 0 and from 100 %, and rise over its training. One thread of a CPU needs about
ten minutes. The seeds are fixed, so the same versions of Python, torch and tokenizers
on the same processor give the same weights.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ckptbench.benchmarks.demo import grammar, masking, tokenizer

if TYPE_CHECKING:
    from transformers import ModernBertForMaskedLM, PreTrainedTokenizerFast

OUTPUT = Path(__file__).with_name("demo-mlm")


@dataclass(frozen=True, slots=True)
class Plan:
    """What decides the weights.

    Attributes:
        steps: optimizer steps; the first `short_steps` see passages of two sentences only.
        short_passages, passages: how many texts there are of each sort.
        warm_up_steps: steps until the learning rate is at its peak.
        steady_steps: step from which it falls, in a straight line, to nearly nothing.
        keep: steps after which a checkpoint is saved.
    """

    steps: int = 6000
    short_steps: int = 1000
    short_passages: int = 40_000
    passages: int = 100_000
    warm_up_steps: int = 100
    steady_steps: int = 2500
    keep: tuple[int, ...] = (100, 1500, 6000)
    batch: int = 32
    learning_rate: float = 2e-3
    max_gradient_norm: float = 1.0
    hidden: int = 128
    layers: int = 3
    heads: int = 4
    intermediate: int = 256
    max_tokens: int = 512
    rope_theta: float = 1000.0
    seed: int = 11

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        rising = min(1.0, step / self.warm_up_steps)
        falling = min(1.0, (self.steps - step) / (self.steps - self.steady_steps))
        return self.learning_rate * rising * max(0.02, falling)


def training_passages(plan: Plan) -> tuple[list[grammar.Passage], list[grammar.Passage]]:
    """All the text the model reads: short passages to begin with, then longer ones."""
    return (
        list(islice(grammar.passages(plan.seed, (2,)), plan.short_passages)),
        list(islice(grammar.passages(plan.seed + 1, (2, 3, 4, 5)), plan.passages)),
    )


def make_model(plan: Plan, vocabulary: int) -> ModernBertForMaskedLM:
    """The untrained model.

    A token has to find its way from where it stands to the mask and out again as a word. From
    random weights a model this small needs most of its training to hit on that, so the matrices
    on that way start near the identity.
    """
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    torch.manual_seed(plan.seed)
    settings: dict[str, Any] = {  # some are arguments of transformers 4, renamed by 5
        "vocab_size": vocabulary,
        "hidden_size": plan.hidden,
        "num_hidden_layers": plan.layers,
        "num_attention_heads": plan.heads,
        "intermediate_size": plan.intermediate,
        "max_position_embeddings": plan.max_tokens,
        "local_attention": 2 * plan.max_tokens,
        "global_attn_every_n_layers": 1,
        "global_rope_theta": plan.rope_theta,
        "local_rope_theta": plan.rope_theta,
        "initializer_range": 0.04,
        "pad_token_id": tokenizer.PAD_ID,
        "cls_token_id": tokenizer.CLS_ID,
        "bos_token_id": tokenizer.CLS_ID,
        "sep_token_id": tokenizer.SEP_ID,
        "eos_token_id": tokenizer.SEP_ID,
    }
    model = ModernBertForMaskedLM(ModernBertConfig(**settings))
    identity = torch.eye(plan.hidden)
    with torch.no_grad():
        model.model.embeddings.tok_embeddings.weight.normal_(0.0, 0.2)
        model.head.dense.weight.add_(identity)
        for layer in model.model.layers:
            layer.attn.Wqkv.weight[2 * plan.hidden :].add_(identity)
            layer.attn.Wo.weight.add_(0.5 * identity)
    return model


def loss_and_hits(
    model: ModernBertForMaskedLM, batch: Sequence[masking.Example]
) -> tuple[torch.Tensor, float]:
    """Mean cross entropy in nats at the masked places, and the share of them that is right."""
    longest = max(len(example.ids) for example in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    attended = torch.zeros_like(ids)
    for row, example in enumerate(batch):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        attended[row, : len(example.ids)] = 1
    places = [
        row * longest + place for row, example in enumerate(batch) for place in example.places
    ]
    answers = torch.tensor([answer for example in batch for answer in example.answers])
    hidden = model.model(input_ids=ids, attention_mask=attended).last_hidden_state
    logits = model.decoder(model.head(hidden.flatten(0, 1)[torch.tensor(places)]))
    hits = (logits.argmax(-1) == answers).float().mean().item()
    return torch.nn.functional.cross_entropy(logits, answers), hits


def save(
    folder: Path,
    model: ModernBertForMaskedLM,
    words: PreTrainedTokenizerFast,
    plan: Plan,
    log: Sequence[dict[str, float]],
) -> None:
    """Write a checkpoint: a Hugging Face folder with the state a trainer leaves.

    Weights are rounded to fp16, which halves the files.
    """
    rounded = copy.deepcopy(model)
    torch.nn.Module.half(rounded)
    rounded.save_pretrained(folder)
    words.save_pretrained(folder)
    # Names that transformers 4 reads as well as 5.
    _amend(
        folder / "config.json",
        dtype="float16",
        torch_dtype="float16",
        global_rope_theta=plan.rope_theta,
        local_rope_theta=plan.rope_theta,
        reference_compile=False,
    )
    _amend(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    state = {
        "global_step": int(log[-1]["step"]),
        "epoch": log[-1]["epoch"],
        "max_steps": plan.steps,
        "train_batch_size": plan.batch,
        "log_history": list(log),
    }
    _write_json(folder / "trainer_state.json", state)


def _amend(path: Path, **values: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    content.pop("backend", None)
    _write_json(path, {**content, **values})


def _write_json(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def train(plan: Plan, output: Path) -> None:
    """Train and save a checkpoint `output/checkpoint-STEP` after each step of `plan.keep`."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    words = tokenizer.build(plan.max_tokens)
    model = make_model(plan, len(words)).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    random_ = random.Random(plan.seed)
    short, full = (
        masking.batches(passages, words.backend_tokenizer, plan.batch, random_)
        for passages in training_passages(plan)
    )
    started = time.monotonic()
    log: list[dict[str, float]] = []
    losses: list[float] = []
    hits: list[float] = []
    for step in range(1, plan.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(step)
        loss, hit = loss_and_hits(model, next(short if step <= plan.short_steps else full))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), plan.max_gradient_norm)
        optimizer.step()
        losses.append(loss.item())
        hits.append(hit)
        if step % 100 == 0:
            log.append(
                {
                    "step": step,
                    "epoch": round(step * plan.batch / (plan.short_passages + plan.passages), 4),
                    "learning_rate": plan.rate(step),
                    "loss": round(sum(losses) / len(losses), 4),
                    "masked_accuracy": round(sum(hits) / len(hits), 4),
                }
            )
            losses.clear()
            hits.clear()
            seconds = time.monotonic() - started
            print(f"{seconds:6.0f} s  {json.dumps(log[-1])}", flush=True)
        if step in plan.keep:
            save(output / f"checkpoint-{step}", model, words, plan, log)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the checkpoints")
    train(Plan(), parser.parse_args().output)
