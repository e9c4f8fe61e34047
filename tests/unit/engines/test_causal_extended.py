"""A real causal language model, where CKPTBENCH_CAUSAL_LM names its Hugging Face folder."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ckptbench.api.requests import Generate, Generated
from ckptbench.checkpoints.kind import LoadOptions

PROBLEMS, TOKENS = 20, 64


@pytest.fixture(scope="module")
def prompts() -> list[str]:
    """The first prompts of HumanEval, as `humaneval/strip-newline` puts them."""
    data = os.environ.get("CKPTBENCH_DATA")
    if not data:
        pytest.skip("CKPTBENCH_DATA does not name a folder with the public datasets")
    with gzip.open(Path(data) / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["prompt"].strip() for line in file][:PROBLEMS]


@pytest.fixture(scope="module")
def loaded() -> Any:
    """The model, in fp32 on the CPU."""
    folder = os.environ.get("CKPTBENCH_CAUSAL_LM")
    if not folder:
        pytest.skip("CKPTBENCH_CAUSAL_LM does not name a causal model's Hugging Face folder")
    from ckptbench.fixtures.checkpoints.huggingface import load_causal_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    return load_causal_lm(resolve(folder), LoadOptions(device="cpu", dtype="fp32"))


def test_greedy_text_is_that_of_transformers_one_prompt_at_a_time(
    loaded: Any, prompts: list[str]
) -> None:
    import torch

    from ckptbench.fixtures.engines.causal.engine import CausalLMEngine

    requests = [Generate(prompt, max_tokens=TOKENS) for prompt in prompts]
    answers = dict(CausalLMEngine(loaded).answer(requests))
    assert sorted(answers) == list(range(PROBLEMS))
    tokenizer = loaded.tokenizer
    for place, prompt in enumerate(prompts):
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        with torch.inference_mode():
            written = loaded.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=TOKENS,
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
            )[0, ids.shape[1] :]
        answer = answers[place]
        assert isinstance(answer, Generated)
        assert answer.text == tokenizer.decode(written, skip_special_tokens=True), prompt
