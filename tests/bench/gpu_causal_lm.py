"""How busy a GPU is while it writes: 164 prompts x 20 trials x 256 tokens of a 0.5B model.

    python tests/bench/gpu_causal_lm.py [--problems 164] [--trials 20] [--tokens 256]

Makes a random-weight model in the shape of Qwen2-0.5B with a byte-level tokenizer, and prompts of
60 to 400 tokens. Then the engine answers all trials of all prompts, sampled, and transformers'
own `generate` is called for a few of the problems, once a problem with all its trials
(`num_return_sequences`), on the same GPU in the same process. Both rates are new tokens a second.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

VOCABULARY = 151_936
SHORTEST, MEDIAN, LONGEST, SPREAD = 60, 150, 400, 0.5
STOPS = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")


def make_model(folder: Path) -> None:
    """Save the random-weight model and its tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    # Bytes, which prompts are made of, and words that only the model writes.
    entries = ["<pad>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    entries += [f"w{number}" for number in range(len(entries), VOCABULARY)]
    tokenizer = Tokenizer(models.BPE({entry: i for i, entry in enumerate(entries)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>"
    ).save_pretrained(folder)
    config = Qwen2Config(
        vocab_size=VOCABULARY + 8, hidden_size=896, num_hidden_layers=24, num_attention_heads=14,
        num_key_value_heads=2, intermediate_size=4864, tie_word_embeddings=True,
        bos_token_id=None, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def make_prompts(n: int) -> list[str]:
    """Random letters, as many as a problem of a code benchmark has tokens."""
    draw = np.random.default_rng(0)
    lengths = np.exp(draw.normal(np.log(MEDIAN), SPREAD, n)).astype(int)
    return [
        "".join(draw.choice(list("abcdefghijklmnopqrstuvwxyz"), length))
        for length in np.clip(lengths, SHORTEST, LONGEST)
    ]


def engine_rate(loaded: Any, prompts: Sequence[str], chosen: argparse.Namespace) -> float:
    """New tokens a second of the engine, from the first request to the last answer."""
    from ckptbench import Generate, Generated
    from ckptbench.fixtures.engines.causal_lm import CausalLMEngine

    engine = CausalLMEngine(loaded, chosen.batch_tokens or "auto")
    requests = [
        Generate(
            prompt, stop=STOPS, max_tokens=chosen.tokens, temperature=0.8, top_p=chosen.top_p,
            seed=1000 * number + trial,
        )
        for number, prompt in enumerate(prompts)
        for trial in range(chosen.trials)
    ]  # fmt: skip
    start = time.perf_counter()
    answers = [answer for _, answer in engine.answer(requests)]
    seconds = time.perf_counter() - start
    assert all(isinstance(answer, Generated) for answer in answers)
    return sum(getattr(answer, "tokens", 0) for answer in answers) / seconds


def generate_rate(loaded: Any, prompts: Sequence[str], chosen: argparse.Namespace) -> float:
    """New tokens a second of `generate`, called for each problem with all its trials."""
    import torch

    made = 0
    start = time.perf_counter()
    for prompt in prompts:
        inputs = loaded.tokenizer(prompt, return_tensors="pt").to(loaded.device)
        output = loaded.model.generate(
            input_ids=inputs.input_ids, attention_mask=inputs.attention_mask,
            max_new_tokens=chosen.tokens, do_sample=True, temperature=0.8, top_p=chosen.top_p,
            top_k=0, num_return_sequences=chosen.trials, pad_token_id=0,
        )  # fmt: skip
        made += int((output[:, inputs.input_ids.shape[1] :] != 0).sum())
    torch.cuda.synchronize()
    return made / (time.perf_counter() - start)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print both rates."""
    from ckptbench.fixtures.checkpoints.causal_lm import load_causal_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--problems", type=int, default=164)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--batch-tokens", type=int, default=0, help="0 for auto")
    parser.add_argument("--compared", type=int, default=2, help="problems given to generate")
    parser.add_argument("--device", default="cuda")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        make_model(folder)
        loaded = load_causal_lm(resolve(str(folder)), device=chosen.device, dtype="bf16")
        prompts = make_prompts(chosen.problems)
        generate_rate(loaded, prompts[:1], chosen)
        plain = generate_rate(loaded, prompts[: chosen.compared], chosen)
        ours = engine_rate(loaded, prompts, chosen)
    print(f"{chosen.problems} prompts x {chosen.trials} trials x {chosen.tokens} tokens, sampled")
    print(f"  generate a problem  {plain:10,.0f} tokens/s")
    print(f"  engine              {ours:10,.0f} tokens/s  ({ours / plain:.1f} times)")


if __name__ == "__main__":
    main()
