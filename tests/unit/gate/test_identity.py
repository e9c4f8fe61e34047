"""Settings of a chat make two results two measurements; what is not recorded is the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ckptbench._util.errors import CkptbenchError
from ckptbench.gate.baseline import BaselineBenchmark
from ckptbench.gate.identity import Mismatch, check_allowed, mismatches, unrecorded

PLAIN: dict[str, Any] = {"chat": False}
CHAT: dict[str, Any] = {"chat": True, "fewshot_as_multiturn": True}
SYSTEM: dict[str, Any] = {**CHAT, "system_instruction": "Be brief."}


def differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    held = BaselineBenchmark("t", "t/v1", True, "", None, (), {}, settings=dict(theirs))
    return [each.name for each in mismatches(held, "t/v1", ours)]


@pytest.mark.parametrize(
    ("one", "other", "names"),
    [
        (PLAIN, PLAIN, []),
        (PLAIN, CHAT, ["fewshot_as_multiturn", "chat"]),
        (CHAT, CHAT | {"fewshot_as_multiturn": False}, ["fewshot_as_multiturn"]),
        (CHAT, SYSTEM, ["system_instruction"]),
        (PLAIN, PLAIN | {"system_instruction": "Be brief."}, ["system_instruction"]),
        (CHAT, CHAT | {"chat": "rag"}, ["chat"]),
    ],
)
def test_what_differs_is_named_whoever_was_first(
    one: Mapping[str, Any], other: Mapping[str, Any], names: list[str]
) -> None:
    assert sorted(differing(one, other)) == sorted(differing(other, one)) == sorted(names)


def test_a_baseline_that_records_nothing_of_chats_passes() -> None:
    assert differing({}, SYSTEM) == []
    assert differing({"max_tokens": 5}, SYSTEM) == []
    held = BaselineBenchmark("t", "t/v1", True, "", None, (), {}, settings={"max_tokens": 5})
    assert "chat template" in unrecorded(held, CHAT)


def test_a_revision_that_is_not_recorded_is_noted_from_the_second_on() -> None:
    held = BaselineBenchmark("t", "t/v1", True, "", None, (), {}, settings={"max_tokens": 5})
    assert unrecorded(held, {"max_tokens": 5, "revision": 1}) == ()
    assert unrecorded(held, {"max_tokens": 5, "revision": 2}) == ("revision of the protocol",)


def test_answers_at_temperature_0_have_no_top_p() -> None:
    ours = {"top_p": 0.9, "num_samples": 5}
    greedy = BaselineBenchmark("t", "t", True, "", None, (), {}, settings={"temperature": 0.0})
    bare = BaselineBenchmark("t", "t", True, "", None, (), {})
    assert len(unrecorded(greedy, ours)) == 1
    assert len(unrecorded(bare, ours)) == 2
    assert set(unrecorded(greedy, ours)) < set(unrecorded(bare, ours))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("top_p", "top-p"),
        ("exec_memory_mb", "memory of a program, MiB"),
        ("exec_open_files", "open files of a program"),
        ("odd_one", "odd_one"),
    ],
)
def test_a_setting_is_called_by_its_words_or_by_its_name(name: str, words: str) -> None:
    bare = BaselineBenchmark("t", "t", True, "", None, (), {})
    assert unrecorded(bare, {name: 1}) == (words,)
    assert str(Mismatch(name, 0.5, 8.0)) == f"{words} 0.5 in the baseline, 8 here"
    assert str(Mismatch(name, None, "")) == f"{words} none in the baseline, none here"


def test_only_settings_may_differ() -> None:
    check_allowed(["top-p", "max_tokens", "exec_open_files"], limits=["exec_open_files"])
    for name in ("top-q", "exec_open_files"):
        with pytest.raises(CkptbenchError, match="no setting named"):
            check_allowed([name])
