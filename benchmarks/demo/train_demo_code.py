"""Train the demo code model.

    python benchmarks/demo/train_demo_code.py [--output FOLDER]

A Llama of half a million parameters learns to complete small functions (see `programs.py`). It
exists so that Pass@K can be tried, and tested, without any download: of the problems in
`samples/problems.jsonl` it solves some always, some now and then, and some never. One thread of a
CPU needs about ten minutes. The seeds are fixed, so the same versions of Python, torch and
tokenizers on the same processor give the same weights.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ckptbench.benchmarks.demo import programs

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

OUTPUT = Path(__file__).with_name("demo-code")
BOS, EOS, PAD = SPECIALS = ("<s>", "</s>", "<pad>")
BOS_ID, EOS_ID, PAD_ID = range(len(SPECIALS))
_IGNORED = -100  # the label that cross entropy passes over


@dataclass(frozen=True, slots=True)
class Plan:
    """What decides the weights.

    Attributes:
        programs: how many different training texts there are.
        mistakes: share of the programs whose body is another's. A model this small is sure of
            whatever it has seen; with mistakes to learn from, trials differ, as they do of others.
        ending_in_line_feed: share of the prompts that keep the line feed after the docstring.
        vocabulary: entries of the tokenizer at most.
        warm_up_steps: steps until the learning rate is at its peak; then it falls in a straight
            line to nearly nothing.
    """

    steps: int = 4000
    programs: int = 60_000
    mistakes: float = 0.25
    ending_in_line_feed: float = 0.15
    vocabulary: int = 640
    batch: int = 32
    warm_up_steps: int = 100
    learning_rate: float = 3e-3
    max_gradient_norm: float = 1.0
    hidden: int = 112
    layers: int = 3
    heads: int = 4
    intermediate: int = 288
    max_tokens: int = 512
    rope_theta: float = 1000.0
    seed: int = 5

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        rising = min(1.0, step / self.warm_up_steps)
        falling = (self.steps - step) / (self.steps - self.warm_up_steps)
        return self.learning_rate * rising * max(0.02, min(1.0, falling))


def training_programs(plan: Plan) -> list[programs.Program]:
    """All that the model reads, each program once."""
    return list(dict.fromkeys(islice(programs.programs(plan.seed), plan.programs)))


@dataclass(frozen=True, slots=True)
class Text:
    """A tokenized program.

    Attributes:
        start: where the body begins: the model learns to write what is there, and only that,
            since nobody can foresee a prompt.
    """

    ids: tuple[int, ...]
    start: int


def make_tokenizer(plan: Plan, texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A byte-level BPE learned from the texts, that puts one BOS in front."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=plan.vocabulary,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A $B", special_tokens=[(BOS, BOS_ID)]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        model_max_length=plan.max_tokens,
        clean_up_tokenization_spaces=False,
    )


def encode(
    tokenizer: PreTrainedTokenizerFast, made: Sequence[programs.Program], plan: Plan
) -> list[Text]:
    """The programs with a BOS in front and an EOS behind, some with another's body."""
    draw = random.Random(plan.seed)
    alike: dict[tuple[str, ...], list[programs.Program]] = {}
    for program in made:
        alike.setdefault(program.parameters, []).append(program)
    prompts, bodies = [], []
    for program in made:
        wrong = draw.random() < plan.mistakes
        code = (draw.choice(alike[program.parameters]) if wrong else program).code
        # A prompt's tokens do not depend on what follows: both parts are tokenized apart.
        kept = draw.random() < plan.ending_in_line_feed
        prompts.append(program.prompt if kept else program.prompt.rstrip("\n"))
        bodies.append(code if kept else f"\n{code}")
    heads = tokenizer(prompts)["input_ids"]
    codes = tokenizer(bodies, add_special_tokens=False)["input_ids"]
    return [
        Text((*head, *code, EOS_ID), len(head)) for head, code in zip(heads, codes, strict=True)
    ]


def make_model(plan: Plan, vocabulary: int) -> LlamaForCausalLM:
    """The untrained model."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(plan.seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=plan.hidden,
        num_hidden_layers=plan.layers,
        num_attention_heads=plan.heads,
        num_key_value_heads=plan.heads,
        intermediate_size=plan.intermediate,
        max_position_embeddings=plan.max_tokens,
        rope_parameters={"rope_type": "default", "rope_theta": plan.rope_theta},
        initializer_range=0.05,
        tie_word_embeddings=True,
        bos_token_id=BOS_ID,
        eos_token_id=EOS_ID,
        pad_token_id=PAD_ID,
    )
    return LlamaForCausalLM(config)


def batches(
    texts: Sequence[Text], size: int, draw: random.Random
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """`(ids, labels)` of shape (size, tokens) without end; texts of like length together."""
    while True:
        order = sorted(range(len(texts)), key=lambda i: (len(texts[i].ids) // 8, draw.random()))
        starts = list(range(0, len(order) - size + 1, size))
        draw.shuffle(starts)
        for start in starts:
            chosen = [texts[i] for i in order[start : start + size]]
            longest = max(len(text.ids) for text in chosen)
            ids = torch.full((size, longest), PAD_ID)
            labels = torch.full((size, longest), _IGNORED)
            for row, text in enumerate(chosen):
                ids[row, : len(text.ids)] = torch.tensor(text.ids)
                labels[row, text.start : len(text.ids)] = torch.tensor(text.ids[text.start :])
            yield ids, labels


def save(
    folder: Path, model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, plan: Plan
) -> None:
    """Write the checkpoint as a Hugging Face folder, its weights rounded to fp16."""
    rounded = copy.deepcopy(model)
    torch.nn.Module.half(rounded)
    rounded.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    # Names that transformers 4 reads as well as 5.
    _amend(
        folder / "config.json",
        dtype="float16",
        torch_dtype="float16",
        rope_theta=plan.rope_theta,
    )
    _amend(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")


def _amend(path: Path, **values: object) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    content.pop("backend", None)
    text = json.dumps({**content, **values}, ensure_ascii=False, indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def train(plan: Plan, output: Path) -> None:
    """Train and save the checkpoint in the folder `output`."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    made = training_programs(plan)
    tokenizer = make_tokenizer(plan, [program.text for program in made])
    encoded = encode(tokenizer, made, plan)
    model = make_model(plan, len(tokenizer)).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=plan.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    stream = batches(encoded, plan.batch, random.Random(plan.seed))
    mean_tokens = sum(len(text.ids) for text in encoded) / len(encoded)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(f"{parameters} parameters, {len(made)} programs, {mean_tokens:.0f} tokens each")
    started = time.monotonic()
    losses: list[float] = []
    for step in range(1, plan.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(step)
        ids, labels = next(stream)
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), plan.max_gradient_norm)
        optimizer.step()
        losses.append(loss.item())
        if step % 100 == 0:
            seconds = time.monotonic() - started
            mean = sum(losses) / len(losses)
            print(f"{seconds:6.0f} s  step {step}  loss {mean:.4f}", flush=True)
            losses.clear()
    save(output, model, tokenizer, plan)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of the checkpoint")
    train(Plan(), parser.parse_args().output)
