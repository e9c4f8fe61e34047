"""A space at the beginning of an answer, which some tokenizers drop and servers do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ckptbench.api.requests import Generate
from ckptbench.fixtures.endpoints.engine import EndpointEngine
from ckptbench.fixtures.text.tokens import CausalText, drops_space, spelled_alone

Serve = Callable[..., Any]
LINES = (
    "def add(a, b):\n    return a + b\n",
    "for word in words:\n    print(word)\n",
    "The sea is wide and the sky is blue\n",
)
PROMPTS = [f"{start} {word}" for start in ("The", "a", "def") for word in ("sea", "word", "sky")]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model with Llama 2's decoder: `▁` is a space, of which the first is dropped."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    specials = ["<s>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=specials, show_progress=False)
    backend.train_from_iterator(LINES, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=128, initializer_range=0.3,
        bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("pieces") / "checkpoint-1"
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def served(served: Any, pieces: Path) -> Any:
    """Served here in place of the demo."""
    return type(served)(str(pieces))


def asked(*, alone: bool) -> list[Generate]:
    return [
        Generate(prompt, max_tokens=4, temperature=1.0, seed=seed, alone=alone)
        for seed, prompt in enumerate(PROMPTS)
    ]


def texts(engine: Any, requests: Sequence[Generate]) -> list[str]:
    found = sorted(engine.answer(requests), key=lambda entry: entry[0])
    return [response.text for _, response in found]


def test_an_answer_by_itself_is_what_the_local_engine_makes_of_it(
    served: Any, serve: Serve, connected: Serve, pieces: Path
) -> None:
    endpoint = connected(serve(positions=128), tokenizer=pieces)
    engine = EndpointEngine(endpoint)
    behind, alone = (asked(alone=by_itself) for by_itself in (False, True))
    assert texts(engine, behind) == texts(served.engine, behind)
    assert texts(engine, alone) == texts(served.engine, alone)
    assert texts(served.engine, alone) != texts(served.engine, behind)
    assert endpoint.closing_notes == ()


@pytest.mark.parametrize("kind", ["one space", "all of the first token's", "none"])
def test_the_tokenizers_own_rule_is_followed(pieces: Path, kind: str) -> None:
    from tokenizers import decoders
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(pieces)
    if kind == "all of the first token's":
        tokenizer.backend_tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    if kind == "none":
        tokenizer.backend_tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    text = CausalText(tokenizer, cast(Any, SimpleNamespace(generation_config=None, config=None)))
    assert drops_space(text) == (kind != "none")
    for prompt, answer in (("The sea", " word"), ("def add", "   return a"), ("def", "(a, b)")):
        before = text.prompt(Generate(prompt))
        new = text.prompt(Generate(prompt + answer))[len(before) :]
        assert text.after(before, new) == answer
        assert spelled_alone(text, prompt, answer) == text.after(before, new, alone=True)


def test_without_a_copy_of_the_tokenizer_a_space_stays_and_is_told(
    served: Any, serve: Serve, connected: Serve
) -> None:
    """As with lm-eval's own model of a server, which takes the text as it comes."""
    endpoint = connected(serve(positions=128))
    found = texts(EndpointEngine(endpoint), asked(alone=True))
    assert found == texts(served.engine, asked(alone=False))
    spaced = sum(text.startswith(" ") for text in found)
    (note,) = endpoint.closing_notes
    assert note.startswith(f"{spaced} answers of demo begin with a space")
    assert "--tokenizer" in note


def test_answers_kept_without_the_copy_are_not_taken_for_others(
    serve: Serve, connected: Serve, pieces: Path
) -> None:
    server = serve(positions=128)
    fingerprints = {connected(server, tokenizer=copy).fingerprint for copy in (None, pieces)}
    assert len(fingerprints) == 2
