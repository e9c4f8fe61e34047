"""The run store: answers are durable, found again under what decides them, and under that only."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckptbench import (
    CkptbenchError,
    CompoundResponse,
    Filled,
    FillMask,
    Generated,
    Likelihood,
    Skipped,
)
from ckptbench.results.answers import Key, NoLongerAnAnswer, decode, encode, keys_of
from ckptbench.results.earlier import earlier_runs
from ckptbench.results.integrity import stored_text
from ckptbench.results.layout import STORE
from ckptbench.results.store import RunStore
from ckptbench.results.stored_run import GroupMetadata, PlannedItem

REQUEST = FillMask("The cat sat.", (4, 7), "cat")
ANSWER = Filled(("cat", "dog"), (-0.25, -1.5), rank=1, masks=1)


def key(
    sample: str = "s1",
    *,
    fingerprint: str = "abc",
    settings: dict[str, object] | None = None,
    protocol: str = "real/whole-word",
    seed: int = 0,
    trial: int = 0,
    request: FillMask = REQUEST,
    revision: int = 1,
    engine: int = 1,
) -> Key:
    key_of = keys_of(fingerprint, settings or {"seq_len": 128}, protocol, seed, revision, engine)
    return key_of(sample, trial, request)


def store_one(
    folder: Path, answer: Filled | Skipped = ANSWER, *, earlier: tuple[Path, ...] = ()
) -> None:
    store = RunStore(folder, earlier=earlier)
    store.add([(key(), encode(answer))])
    store.close()


@pytest.mark.parametrize(
    "response",
    [
        ANSWER,
        Filled((), (), None, 3),
        Filled(("한국", "서울"), (-1e-12, -700.0), 2, 2),
        Filled(("한국",), (-0.5,), None, 2, answer_logprob=-7.31),
        Skipped("first_mention_out_of_window"),
    ],
)
def test_a_response_comes_back_as_it_was(response: Filled | Skipped) -> None:
    assert decode(encode(response)) == response


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize(
    "spoilt",
    [
        lambda x: Filled(("a", "b"), (x, -1.0), 2, 1),
        lambda x: Filled(("a",), (-1.0,), 1, 1, answer_logprob=x),
        lambda x: Likelihood(x, False, 2),
        lambda x: CompoundResponse((Likelihood(-1.5, True, 1), Likelihood(x, True, 1))),
    ],
)
def test_a_number_that_json_cannot_hold_is_never_written_as_another(
    odd: float, spoilt: Callable[[float], Any]
) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(spoilt(odd))


@pytest.mark.parametrize(
    "old",
    [
        '{"kind": "likelihood", "logprob": null, "greedy": false, "tokens": 2}',
        '{"kind": "filled", "candidates": ["a"], "logprobs": [null], "rank": 1, "masks": 1}',
        '{"kind": "several", "parts": [{"kind": "likelihood", "logprob": null, "greedy": true, '
        '"tokens": 1}]}',
    ],
)
def test_what_counted_as_an_answer_once_is_asked_again(tmp_path: Path, old: str) -> None:
    """Earlier versions stored infinities and NaN as null, which told neither from the other."""
    with pytest.raises(NoLongerAnAnswer):
        decode(old)
    store = RunStore(tmp_path / "old")
    store.add([(key("s1"), old), (key("s2"), encode(ANSWER))])
    assert store.find([key("s1"), key("s2")]) == [None, ANSWER]
    store.close()
    later = RunStore(tmp_path / "new", earlier=[tmp_path / "old"])
    assert later.find([key("s1"), key("s2")]) == [None, ANSWER]
    later.close()


def test_answers_that_were_null_are_counted_by_group(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    texts = [
        Generated("", 0, "eos", null=True),
        Generated("", 0, "eos"),
        Generated('"null": true', 3, "eos"),
        CompoundResponse((Generated("a", 1, "eos"), Generated("", 0, "eos", null=True))),
        Generated("", 0, "eos", null=True),
    ]
    groups = [0, 0, 0, 1, 1]
    items = [PlannedItem(n, f"n{n}", groups[n], f"n{n}", "s", "s", 0) for n in range(len(texts))]
    store.write_plan("t", [], GROUPS, items, [])
    assert store.nulls() == {}
    store.serve([(n, groups[n], key(f"s{n}"), encode(text)) for n, text in enumerate(texts)])
    assert store.nulls() == {0: 1, 1: 2}
    store.close()


def test_an_answer_of_before_holds_no_likelihood_of_the_word() -> None:
    """Stored before the word was scored: it can be read, and is no answer to the new question."""
    old = '{"kind": "filled", "candidates": ["a"], "logprobs": [-0.5], "rank": 1, "masks": 1}'
    assert decode(old) == Filled(("a",), (-0.5,), 1, 1, answer_logprob=None)


def test_what_was_stored_is_found_by_another_process_after_closing(tmp_path: Path) -> None:
    store_one(tmp_path)
    store = RunStore(tmp_path)
    assert store.find([key("s0"), key("s1")]) == [None, ANSWER]
    store.close()


@pytest.mark.parametrize(
    "other",
    [
        key("s2"),
        key(fingerprint="abd"),
        key(settings={"seq_len": 512}),
        key(settings={"seq_len": 128, "dtype": "bf16"}),
        key(protocol="real/origin"),
        key(revision=2),
        key(engine=2),
        key(seed=1),
        key(trial=1),
        key(request=FillMask("The cat sat.", (4, 7), "cat", top=10)),
        key(request=FillMask("The cat sat.", (4, 7), "cat", likelihood=True)),
    ],
)
def test_an_answer_is_never_given_to_another_question(tmp_path: Path, other: Key) -> None:
    store_one(tmp_path)
    store = RunStore(tmp_path)
    assert store.find([other]) == [None]
    store.close()
    assert other.digest != key().digest  # or the answer to one would replace that to the other


def test_two_checkpoints_answers_to_one_question_stand_side_by_side(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    answers = {name: Generated(f"by {name}", 1, "eos") for name in ("abc", "abd")}
    store.add([(key(fingerprint=name), encode(answer)) for name, answer in answers.items()])
    assert store.find([key(fingerprint=name) for name in answers]) == list(answers.values())
    store.close()


def test_the_order_of_settings_does_not_matter() -> None:
    assert key(settings={"a": 1, "b": 2}) == key(settings={"b": 2, "a": 1})


def test_a_later_answer_replaces_the_earlier(tmp_path: Path) -> None:
    store_one(tmp_path, Skipped("too_long"))
    store_one(tmp_path, ANSWER)
    store = RunStore(tmp_path)
    assert store.find([key()]) == [ANSWER]
    store.close()


def test_an_answer_of_an_earlier_run_is_copied(tmp_path: Path) -> None:
    store_one(tmp_path / "old")
    store = RunStore(tmp_path / "new", earlier=[tmp_path / "old"])
    assert store.find([key()]) == [ANSWER]
    store.close()
    alone = RunStore(tmp_path / "new")
    assert alone.find([key()]) == [ANSWER]
    alone.close()


def test_of_many_keys_only_those_that_an_earlier_run_has_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_one(tmp_path / "old")
    store = RunStore(tmp_path / "new", earlier=[tmp_path / "old"])
    read: list[str] = []

    def spy(connection: sqlite3.Connection, key: Key) -> str:
        read.append(key.digest)
        return stored_text(connection, key)

    monkeypatch.setattr(f"{RunStore.__module__}.stored_text", spy)
    assert store.find([key("other"), key(), key("third")]) == [None, ANSWER, None]
    assert read == [key().digest]
    store.close()


def test_this_runs_own_answer_comes_first(tmp_path: Path) -> None:
    store_one(tmp_path / "old", Skipped("too_long"))
    store_one(tmp_path / "new", ANSWER)
    store = RunStore(tmp_path / "new", earlier=[tmp_path / "old"])
    assert store.find([key()]) == [ANSWER]
    store.close()


def test_earlier_runs_come_newest_first_without_this_one(tmp_path: Path) -> None:
    for age, name in enumerate(["c", "a", "b"]):
        store_one(tmp_path / name)
        stamp = time.time() - 100 * age
        os.utime(tmp_path / name / STORE, (stamp, stamp))
    assert [path.name for path in earlier_runs(tmp_path, "a")] == ["c", "b"]
    assert earlier_runs(tmp_path / "nowhere", "a") == []


def test_unreadable_earlier_runs_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / STORE).write_text("no database, but long enough to be read as one")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / STORE).touch()
    store_one(tmp_path / "good")
    folders = [tmp_path / name for name in ("broken", "gone", "empty", "good")]
    store = RunStore(tmp_path / "new", earlier=folders)
    assert store.find([key()]) == [ANSWER]
    store.close()


def test_earlier_runs_are_not_written_to(tmp_path: Path) -> None:
    store_one(tmp_path / "old")
    before = (tmp_path / "old" / STORE).read_bytes()
    store = RunStore(tmp_path / "new", earlier=[tmp_path / "old"])
    store.find([key()])
    store.close()
    assert (tmp_path / "old" / STORE).read_bytes() == before


def test_another_format_is_refused_by_name(tmp_path: Path) -> None:
    store_one(tmp_path)
    with sqlite3.connect(tmp_path / STORE) as db:
        db.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    db.close()
    with pytest.raises(CkptbenchError, match="has format 99") as raised:
        RunStore(tmp_path)
    assert raised.value.where == str(tmp_path / STORE)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    with pytest.raises(CkptbenchError, match="cannot be written") as raised:
        RunStore(tmp_path / "taken" / "run")
    assert "--results-dir" in raised.value.remedy


WRITER = """
import sys
from pathlib import Path
from ckptbench.api.requests import Filled
from ckptbench.results.answers import Key, encode
from ckptbench.results.store import RunStore

store = RunStore(Path(sys.argv[1]))
for number in range(40):
    digest = f"{sys.argv[2]}{number}"
    key = Key(digest, "f", "p", "s", 0, 0)
    store.add([(key, encode(Filled((digest,), (-1.0,), 1, 1)))], [(number, digest)])
store.close()
"""


def test_two_processes_write_at_the_same_time(tmp_path: Path) -> None:
    RunStore(tmp_path).close()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    store = RunStore(tmp_path)
    digests = [f"{name}{number}" for name in "ab" for number in range(40)]
    found = store.find([Key(digest, "f", "p", "s", 0, 0) for digest in digests])
    assert found == [Filled((digest,), (-1.0,), 1, 1) for digest in digests]
    store.close()


GROUPS = [
    GroupMetadata("base", "real", "real/whole-word", True, {"reducer": "top_k", "ks": [1, 5]}),
    GroupMetadata(
        *("tuned", "real", "real/whole-word", True, {"reducer": "top_k", "ks": [1, 5]}),
        left_out=("a",),
        metrics=("real@1",),
        facts={"val_loss": 0.5},
        asked={"limit": {"value": 3, "source": "--limit"}},
    ),
]


def planned(position: int, sample: str, group: int = 0) -> PlannedItem:
    return PlannedItem(
        position, f"t.py::t[{sample}]", group, sample, f"hash-{sample}", "c", 0, group + 3
    )


def test_a_plan_comes_back_in_running_order(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    items = [planned(2, "b"), planned(0, "a"), planned(5, "c", 1)]
    store.write_plan("token", [], GROUPS, items, [])
    assert [item.id for item in store.plan()] == ["a", "b", "c"]
    assert store.block_of_positions() == [(0, 3), (2, 3), (5, 4)]
    assert store.groups() == GROUPS
    assert store.token() == "token"
    store.close()


def test_a_new_plan_replaces_the_old_and_keeps_the_answers(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.write_plan("first", [], GROUPS, [planned(0, "a")], [("hash-a", {"text": "A"})])
    store.add([(key(), encode(ANSWER))], [(0, key().digest)])
    store.add_work(0, 1.5, 3, 1)
    store.note_taken(0)
    store.write_plan("second", [], GROUPS, [planned(0, "b")], [("hash-b", {"text": "B"})])
    assert [item.id for item in store.plan()] == ["b"]
    assert store.work() == {}
    assert store.taken() == set()
    assert store.find([key()]) == [ANSWER]
    assert [response for *_, response in store.answered(0)] == [None]
    store.close()


def test_an_item_shows_its_sample_and_the_answer_it_was_given(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    samples = [("hash-a", {"text": "가"}), ("hash-b", {"text": "B"})]
    store.write_plan("token", [], GROUPS, [planned(0, "a"), planned(1, "b")], samples)
    store.add([(key(), encode(ANSWER))], [(1, key().digest)])
    assert list(store.answered(0)) == [
        (planned(0, "a"), '{"text": "가"}', None),
        (planned(1, "b"), '{"text": "B"}', encode(ANSWER)),
    ]
    store.close()


def test_work_of_all_workers_adds_up(tmp_path: Path) -> None:
    first, second = RunStore(tmp_path), RunStore(tmp_path)
    first.add_work(0, 1.0, 10, 0)
    second.add_work(0, 0.5, 4, 2)
    second.add_work(1, 0.25, 1, 0)
    assert first.work() == {0: (1.5, 14, 2), 1: (0.25, 1, 0)}
    first.close()
    second.close()


def test_an_item_is_counted_by_whoever_answers_it_first(tmp_path: Path) -> None:
    first, second = RunStore(tmp_path), RunStore(tmp_path)
    first.add([(key("old"), encode(ANSWER))])
    first.serve([(0, 0, key("s0"), encode(ANSWER)), (1, 0, key("old"), "")])
    second.serve([(0, 0, key("s0"), ""), (1, 0, key("old"), encode(ANSWER))])
    second.serve([(2, 1, key("s2"), encode(ANSWER)), (2, 1, key("s2"), "")])
    assert first.work() == {0: (0.0, 1, 1), 1: (0.0, 1, 0)}
    first.close()
    second.close()


def test_an_item_shows_the_last_answer_it_was_given(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.write_plan("token", [], GROUPS, [planned(0, "a")], [("hash-a", {})])
    later = Filled(("later",), (-1.0,), 1, 1)
    store.serve([(0, 0, key("one"), encode(ANSWER))])
    store.serve([(0, 0, key("two"), encode(later))])
    assert [response for *_, response in store.answered(0)] == [encode(later)]
    assert store.work() == {0: (0.0, 1, 0)}
    store.close()


def test_every_worker_is_told_what_was_taken(tmp_path: Path) -> None:
    controller, worker = RunStore(tmp_path), RunStore(tmp_path)
    controller.note_taken(4)
    controller.note_taken(4)
    controller.note_taken(2)
    assert worker.taken() == {2, 4}
    controller.close()
    worker.close()


def test_a_store_that_fails_says_so_and_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def small(path: Path, **options: object) -> sqlite3.Connection:
        db = connect(path, **options)  # type: ignore[call-overload]
        db.execute("PRAGMA max_page_count = 30")
        return db

    monkeypatch.setattr("ckptbench.results.store.sqlite3.connect", small)
    store = RunStore(tmp_path)
    store.add([(key(), encode(ANSWER))])
    large = Filled(("x" * 200_000,), (-1.0,), 1, 1)
    with pytest.raises(CkptbenchError, match="full") as raised:
        store.add([(key("s2"), encode(large))])
    assert "--run-id" in raised.value.remedy
    assert store.find([key()]) == [ANSWER]
    store.close()
