from collections.abc import Callable
from typing import Any

import pytest

from ckptbench import Generate, LogLikelihood
from ckptbench.api.requests import Conversation
from ckptbench.fixtures.text.tokens import CausalText

Load = Callable[..., Any]
CHAT = "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}"


def text_of(load_causal: Load, family: str) -> tuple[CausalText, Any]:
    loaded = load_causal(family)
    return CausalText(loaded.tokenizer, loaded.model), loaded.tokenizer


@pytest.mark.parametrize("prompt", ["def f", "<s>def f", "<s><s>def f"])
def test_a_prompt_begins_with_one_bos(prompt: str, load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, "llama")
    assert text.prompt(Generate(prompt)) == tokenizer("def f")["input_ids"]


def test_no_bos_is_put_where_the_tokenizer_puts_none(load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, "qwen2")
    ids = text.prompt(Generate("def f"))
    assert tokenizer.bos_token_id not in ids
    assert ids == tokenizer("def f")["input_ids"]


def test_a_chat_template_may_hold_the_bos(load_causal: Load) -> None:
    for family in ("llama", "qwen2"):
        text, tokenizer = text_of(load_causal, family)
        tokenizer.chat_template = CHAT
        ids = text.prompt(Generate("def", chat=True))
        assert ids == [0, *tokenizer("[def]", add_special_tokens=False)["input_ids"]]


def test_what_a_tokenizer_puts_behind_a_text_is_left_out(load_causal: Load) -> None:
    from tokenizers import processors

    loaded = load_causal("llama")
    loaded.tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    ids = CausalText(loaded.tokenizer, loaded.model).prompt(Generate("def"))
    assert ids == loaded.tokenizer("def")["input_ids"][:-1]


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_an_empty_prompt_is_the_beginning_of_a_text(family: str, load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, family)
    assert text.prompt(Generate("")) == [tokenizer.bos_token_id]


def test_an_empty_prompt_begins_with_eos_where_there_is_no_bos(load_causal: Load) -> None:
    loaded = load_causal("qwen2")
    loaded.tokenizer.bos_token = None
    text = CausalText(loaded.tokenizer, loaded.model)
    assert text.prompt(Generate("")) == [1]
    assert text.pair(LogLikelihood("", "def"))[0][0] == 1


def test_a_continuation_is_what_stands_behind_the_context(load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, "llama")
    ids, tokens = text.pair(LogLikelihood("def add", "(a, b):"))
    assert ids == tokenizer("def add(a, b):")["input_ids"]
    assert tokens == len(ids) - len(tokenizer("def add")["input_ids"])


def test_white_space_at_the_end_of_the_context_moves_to_the_continuation(
    load_causal: Load,
) -> None:
    text, _ = text_of(load_causal, "llama")
    moved = text.pair(LogLikelihood("for word in  ", "words"))
    assert moved == text.pair(LogLikelihood("for word in", "  words"))


@pytest.mark.parametrize("context", ["", "  "])
def test_an_empty_context_is_the_beginning_of_a_text(context: str, load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, "llama")
    ids, tokens = text.pair(LogLikelihood(context, "def"))
    assert ids == tokenizer(context + "def")["input_ids"]
    assert tokens == len(ids) - 1


def test_a_continuation_without_a_token_is_refused(load_causal: Load) -> None:
    text, _ = text_of(load_causal, "llama")
    with pytest.raises(ValueError, match="no token of its own"):
        text.pair(LogLikelihood("def", ""))


def test_a_space_that_the_tokenizer_drops_at_a_beginning_is_kept(load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, "llama-pieces")
    prompt = tokenizer("def add")["input_ids"]
    new = tokenizer("return a", add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(new) == "return a"
    assert text.after(prompt, new) == " return a"


def test_characters_of_several_tokens_are_put_together(load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, "llama")
    prompt, new = tokenizer("# ")["input_ids"], tokenizer("뷁", add_special_tokens=False)
    assert len(new["input_ids"]) > 1
    assert text.after(prompt, new["input_ids"]) == "뷁"


def test_the_ends_are_those_of_the_generation_config(load_causal: Load) -> None:
    loaded = load_causal("llama")
    loaded.model.generation_config.eos_token_id = [3, 5]
    text = CausalText(loaded.tokenizer, loaded.model)
    assert text.ends(Generate("a")) == {3, 5}
    assert text.ends(Generate("a", chat=True)) == {1, 3, 5}
    loaded.model.generation_config.eos_token_id = None
    loaded.model.config.eos_token_id = None
    assert CausalText(loaded.tokenizer, loaded.model).ends(Generate("a")) == {1}


SPOKEN = Conversation((("user", "def f"),))


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_a_conversation_stands_before_what_is_scored(family: str, load_causal: Load) -> None:
    """The template's beginning is that of the text, and white space at its end is scored."""
    text, tokenizer = text_of(load_causal, family)
    tokenizer.chat_template = CHAT + "{{ '\\n ' }}"
    ids, tokens = text.pair(LogLikelihood(" x", "y", SPOKEN))
    whole = tokenizer("[def f]\n  xy", add_special_tokens=False)["input_ids"]
    before = tokenizer("[def f]\n  x", add_special_tokens=False)["input_ids"]
    assert (ids, tokens) == ([0, *whole], len(whole) - len(before))
    bare, scored = text.pair(LogLikelihood("", "y", SPOKEN))
    head = tokenizer("[def f]", add_special_tokens=False)["input_ids"]
    assert scored == len(bare) - 1 - len(head)
    assert text.prompt(Generate("", conversation=SPOKEN))[: 1 + len(head)] == [0, *head]


def test_the_tokenizers_own_end_ends_answers_of_lm_eval_and_of_chats(load_causal: Load) -> None:
    text, tokenizer = text_of(load_causal, "llama")
    tokenizer.eos_token = "<s>"
    own = tokenizer.eos_token_id
    assert own not in text.ends(Generate("def"))
    for request in (Generate("def", alone=True), Generate("", conversation=SPOKEN)):
        assert own in text.ends(request)


def test_a_conversation_without_a_template_is_refused(load_causal: Load) -> None:
    text, _ = text_of(load_causal, "llama")
    with pytest.raises(ValueError, match="the tokenizer has no chat template"):
        text.prompt(Generate("", conversation=SPOKEN))
