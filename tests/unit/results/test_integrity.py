"""A damaged store: its answers are never used, and reading it names it, whatever its bytes are."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptbench import CkptbenchError, Generated
from ckptbench.results.answers import Key, encode
from ckptbench.results.integrity import faults, set_aside, set_aside_damaged, stores_of
from ckptbench.results.layout import STORE
from ckptbench.results.store import RunStore
from ckptbench.results.stored_run import GroupMetadata, PlannedItem, StoredRun

KEYS = [Key(f"digest-{n}", "print", "code/x", f"s{n}", 0, 0) for n in range(40)]
ANSWERS = [Generated(f"text {n} " + "x" * 300, n, "eos") for n in range(40)]
GROUP = GroupMetadata("c", "code", "code/x", True, {"reducer": "top_k", "ks": [1]})


def written(folder: Path) -> Path:
    store = RunStore(folder)
    items = [PlannedItem(n, f"n{n}", 0, f"s{n}", f"s{n}", "c", 0) for n in range(40)]
    store.write_plan("t", [], [GROUP], items, [(f"s{n}", {"text": str(n)}) for n in range(40)])
    store.serve([(n, 0, KEYS[n], encode(ANSWERS[n])) for n in range(40)])
    store.write_engine("c", {"fingerprint": "print"})
    store.close()
    return folder / STORE


def spoil(store: Path, old: bytes, new: bytes) -> None:
    content = store.read_bytes()
    assert content.count(old) == 1
    store.write_bytes(content.replace(old, new))


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_whole_store_has_no_faults(tmp_path: Path) -> None:
    assert faults(written(tmp_path)) == []
    assert files(tmp_path) == {STORE}


def test_one_flipped_bit_in_the_runs_own_answer_is_noticed(tmp_path: Path) -> None:
    store = written(tmp_path)
    spoil(store, b"text 7 x", b"text 5 x")
    assert faults(store) == ["1 answers differ from their checksums: digest-7"]
    run = RunStore(tmp_path)
    expected = [None if n == 7 else answer for n, answer in enumerate(ANSWERS)]
    assert run.find(KEYS) == expected
    assert run.notes() == [f"damaged, and so not used: 1 stored answer in {store}"]
    run.add([(KEYS[7], encode(ANSWERS[7]))])
    assert run.find(KEYS) == ANSWERS
    run.close()
    assert faults(store) == []


def test_a_damaged_answer_of_an_earlier_run_is_neither_used_nor_copied(tmp_path: Path) -> None:
    store = written(tmp_path / "old")
    spoil(store, b"text 7 x", b"text 5 x")
    for name in ("new", "later"):
        run = RunStore(tmp_path / name, earlier=[tmp_path / "old"])
        assert run.find(KEYS)[6:9] == [ANSWERS[6], None, ANSWERS[8]]
        assert run.notes() == [f"damaged, and so not used: 1 stored answer in {store}"]
        run.close()
    assert files(tmp_path / "old") == {STORE}


def test_an_answer_under_another_key_is_none(tmp_path: Path) -> None:
    """As when a bit of the digest flips, or rows are exchanged."""
    store = written(tmp_path)
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE responses SET digest = 'digest-x' WHERE digest = 'digest-3'")
    assert faults(store) == ["1 answers differ from their checksums: digest-x"]
    run = RunStore(tmp_path)
    assert run.find([KEYS[3]._replace(digest="digest-x")]) == [None]
    run.close()


def test_an_earlier_store_that_is_no_database_is_noted_once(tmp_path: Path) -> None:
    broken = tmp_path / "broken" / STORE
    broken.parent.mkdir()
    broken.write_bytes(b"no database, but long enough to be read as one" * 20)
    written(tmp_path / "good")
    run = RunStore(tmp_path / "new", earlier=[tmp_path / "broken", tmp_path / "good"])
    assert run.find(KEYS) == run.find(KEYS) == ANSWERS
    (note,) = run.notes()
    run.close()
    assert note.startswith(f"{broken} cannot be read (file is not a database)")


@pytest.fixture
def page_lost(tmp_path: Path) -> Path:
    """A store one of whose pages, with answers, is overwritten."""
    store = written(tmp_path / "r")
    content = bytearray(store.read_bytes())
    page = content.index(b"text 20 x") // 8192
    content[page * 8192 : page * 8192 + 1000] = b"\xa5" * 1000
    store.write_bytes(content)
    return store


def test_a_store_whose_file_is_damaged_is_set_aside_and_what_it_has_is_used(
    page_lost: Path,
) -> None:
    (note,) = set_aside_damaged(page_lost.parent)
    assert "damaged-1.sqlite" in note
    assert str(page_lost) in note
    assert files(page_lost.parent) == {"damaged-1.sqlite"}
    run = RunStore(page_lost.parent, earlier=set_aside(page_lost.parent))
    found = run.find(KEYS)
    assert None in found
    assert sum(answer is not None for answer in found) > 5
    assert all(a in (None, b) for a, b in zip(found, ANSWERS, strict=True))
    run.add([(key, encode(answer)) for key, answer in zip(KEYS, ANSWERS, strict=True)])
    assert run.find(KEYS) == ANSWERS
    run.close()
    assert set_aside_damaged(page_lost.parent) == []


@pytest.mark.parametrize("share", [0.97, 0.95])
def test_of_a_store_that_was_cut_off_what_is_left_is_used(tmp_path: Path, share: float) -> None:
    store = written(tmp_path)
    content = store.read_bytes()
    store.write_bytes(content[: int(len(content) * share)])
    (note,) = set_aside_damaged(tmp_path)
    assert "what can be read of it is used" in note
    run = RunStore(tmp_path, earlier=set_aside(tmp_path))
    found = run.find(KEYS)
    assert sum(answer is not None for answer in found) > 5
    assert all(a in (None, b) for a, b in zip(found, ANSWERS, strict=True))
    assert not any("no stored answer of it was used" in note for note in run.notes())
    run.close()


def test_a_header_that_asks_for_the_whole_disk_gets_nothing(tmp_path: Path) -> None:
    store = written(tmp_path)
    content = bytearray(store.read_bytes())
    content[28:32] = b"\xff" * 4
    store.write_bytes(content[:-100])
    set_aside_damaged(tmp_path)
    (aside,) = set_aside(tmp_path)
    assert aside.stat().st_size == len(content) - 100


def test_a_store_whose_last_answers_are_in_a_wal_file_is_read_without_a_trace(
    tmp_path: Path,
) -> None:
    """As a killed run leaves it, copied without its shared memory."""
    run = RunStore(tmp_path / "killed")
    run.add([(KEYS[0], encode(ANSWERS[0]))])
    (tmp_path / "copy").mkdir()
    for end in ("", "-wal"):
        shutil.copy(tmp_path / "killed" / f"{STORE}{end}", tmp_path / "copy")
    run.close()
    later = RunStore(tmp_path / "later", earlier=[tmp_path / "copy"])
    assert later.find(KEYS[:1]) == ANSWERS[:1]
    later.close()
    with closing(StoredRun(tmp_path / "copy")) as stored:
        assert [key for key, _ in stored.answers()] == KEYS[:1]
    assert files(tmp_path / "copy") == {STORE, f"{STORE}-wal"}


def test_answers_of_format_1_are_read(tmp_path: Path) -> None:
    store = written(tmp_path)
    with closing(sqlite3.connect(store)) as db, db:
        db.executescript(
            "CREATE TABLE old AS SELECT digest, fingerprint, protocol, sample, trial, seed, "
            "response FROM responses JOIN origins ON origins.id = origin; DROP TABLE responses; "
            "DROP TABLE origins; ALTER TABLE old RENAME TO responses; DROP TABLE damage; "
            "UPDATE meta SET value = '1' WHERE name = 'format'"
        )
    with closing(StoredRun(tmp_path)) as stored:
        assert dict(stored.answers()) == dict(zip(KEYS, map(encode, ANSWERS), strict=True))
        assert stored.notes() == []
    assert faults(store) == []


@cache
def whole() -> bytes:
    """The bytes of a store."""
    with TemporaryDirectory() as folder:
        return written(Path(folder)).read_bytes()


def read_all(folder: Path) -> str:
    """Read all of a store; the place that the error names, if it cannot be."""
    try:
        with closing(StoredRun(folder)) as stored:
            stored.groups(), stored.notes(), stored.engines(), stored.repeats(), stored.work()
            list(stored.plan()), list(stored.samples()), list(stored.answers()), stored.served()
    except CkptbenchError as error:
        return error.where
    return ""


def check_reading(content: bytes) -> None:
    """Reading gives true answers, a note, or an error that names the file, and nothing else."""
    with TemporaryDirectory() as name:
        old, new = Path(name) / "old", Path(name) / "new"
        old.mkdir()
        (old / STORE).write_bytes(content)
        assert read_all(old) in ("", str(old / STORE))
        assert all(isinstance(line, str) for line in faults(old / STORE))
        run = RunStore(new, earlier=[old])
        found = run.find(KEYS)
        assert all(a in (None, b) for a, b in zip(found, ANSWERS, strict=True))
        run.close()
        set_aside_damaged(old)
        if stores_of(old):
            return
        own = RunStore(old, earlier=set_aside(old))
        assert all(a in (None, b) for a, b in zip(own.find(KEYS), ANSWERS, strict=True))
        own.close()


@given(st.binary(max_size=400))
@settings(max_examples=25, deadline=None)
def test_any_bytes_are_a_note_or_an_error_that_names_the_file(content: bytes) -> None:
    check_reading(content)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_damage_to_a_store_is_a_note_or_an_error_that_names_the_file(
    data: st.DataObject,
) -> None:
    spoilt = bytearray(whole())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(spoilt) - 1))
        new = data.draw(st.binary(min_size=1, max_size=60))
        spoilt[at : at + len(new)] = new
    cut = data.draw(st.sampled_from([len(spoilt), len(spoilt) // 2]))
    check_reading(bytes(spoilt[:cut]))
