"""Prompts of a chat before and after a tokenizer has written them."""

from __future__ import annotations

from typing import Any

import pytest

from ckptbench.api.requests import Conversation
from ckptbench.fixtures.lm_eval.chat import deferred, shown, taken_apart
from ckptbench.fixtures.text.chat_template import name_note, templated

HISTORY = [{"role": "system", "content": "Be\nbrief."}, {"role": "user", "content": "\ue0c7 Hi?"}]
SPOKEN = Conversation((("system", "Be\nbrief."), ("user", "\ue0c7 Hi?")))


def test_turns_come_back_as_they_were() -> None:
    assert taken_apart(deferred()(HISTORY)) == (SPOKEN, "")
    written = deferred("rag")(HISTORY, add_generation_prompt=False)
    assert taken_apart(f"{written} and\nmore") == (
        Conversation(SPOKEN.turns, opens_answer=False, template="rag"),
        " and\nmore",
    )
    assert taken_apart("a plain prompt") == (None, "a plain prompt")


def test_a_task_that_writes_around_the_template_is_refused() -> None:
    for text in (f"First {deferred()(HISTORY)}", deferred()(HISTORY) * 2):
        with pytest.raises(ValueError, match="puts text before what the chat template writes"):
            taken_apart(text)
    with pytest.raises(ValueError, match="something else than text"):
        deferred()([{"role": "user", "content": [{"type": "image"}]}])


def test_a_log_shows_what_the_template_writes_or_the_turns() -> None:
    prompt = deferred()(HISTORY) + " tail"
    assert shown(prompt, lambda spoken: f"<{len(spoken.turns)}>") == "<2> tail"
    assert shown(prompt, None).startswith('[{"role": "system", "content": "Be\\nbrief."}')
    assert shown({"until": []}, None) == {"until": []}


class Tokenizer:
    """Writes as transformers' tokenizers do: what they were given and the template's name."""

    def __init__(self, template: Any) -> None:
        self.chat_template = template

    def apply_chat_template(
        self, messages: Any, *, chat_template: str | None = None, **settings: Any
    ) -> str:
        assert settings.pop("tokenize") is False
        opens, continues = settings["add_generation_prompt"], settings["continue_final_message"]
        assert opens is not continues
        return f"{chat_template or 'default'}:{len(messages)}"


@pytest.mark.parametrize(
    ("templates", "name", "written"),
    [
        ("T", "", "default:2"),
        ("T", "rag", "default:2"),
        ({"default": "T", "rag": "R"}, "", "default:2"),
        ({"default": "T", "rag": "R"}, "rag", "default:2"),
        ({"rag": "R", "tools": "S"}, "rag", "R:2"),
    ],
)
def test_which_template_writes(templates: Any, name: str, written: str) -> None:
    spoken = Conversation(SPOKEN.turns, template=name)
    assert templated(Tokenizer(templates), spoken) == written


@pytest.mark.parametrize(
    ("templates", "name", "message"),
    [
        (None, "", "the tokenizer has no chat template"),
        ({"default": "T", "rag": "R"}, "rga", r"no chat template 'rga' \(did you mean 'rag'\?\)"),
        ({"rag": "R", "tools": "S"}, "", "chat templates rag, tools and none is the default"),
    ],
)
def test_templates_that_are_not_there(templates: Any, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        templated(Tokenizer(templates), Conversation(SPOKEN.turns, template=name))


def test_a_name_that_changes_nothing_is_told() -> None:
    several = Tokenizer({"default": "T", "rag": "R"})
    assert "not 'rag'" in name_note(several, "rag")
    assert "a single chat template" in name_note(Tokenizer("T"), "rag")
    for silent in ("", "default"):
        assert name_note(several, silent) == ""
    assert name_note(Tokenizer({"rag": "R"}), "rag") == ""
