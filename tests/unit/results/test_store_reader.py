"""What a run's store is read as: its keys, its groups, its repeats, and damage by name."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ckptbench import CkptbenchError, Generate, Generated
from ckptbench.results.answers import encode, keys_of
from ckptbench.results.earlier import EarlierStores, earlier_runs
from ckptbench.results.integrity import faults, set_aside, set_aside_damaged
from ckptbench.results.layout import PARTS, STORE
from ckptbench.results.spent import NOT_RECORDED, Spent
from ckptbench.results.store import RunStore
from ckptbench.results.stored_run import GroupMetadata, PlannedItem, StoredRun

REQUEST = Generate("def f():", max_tokens=8)
GROUP = GroupMetadata("c", "code", "code/x", True, {"reducer": "mean"})


@pytest.mark.parametrize(
    ("revision", "engine", "name"),
    [
        ({}, {}, "code/x"),
        ({"revision": 1}, {"engine": 1}, "code/x"),
        ({"revision": 2}, {}, "code/x@2"),
        ({}, {"engine": 3}, "code/x|engine@3"),
        ({"revision": 2}, {"engine": 3}, "code/x@2|engine@3"),
    ],
)
def test_a_key_is_what_it_was_in_the_first_store(
    revision: dict[str, int], engine: dict[str, int], name: str
) -> None:
    """Or no answer that is stored would ever be found again."""
    whole = f"abc|[('a', 1), ('b', 2)]|{name}|5|s1|3|{REQUEST!r}"
    digest = base64.urlsafe_b64encode(hashlib.sha256(whole.encode()).digest()[:12]).decode()
    key_of = keys_of("abc", {"b": 2, "a": 1}, "code/x", 5, **revision, **engine)
    assert key_of("s1", 3, REQUEST) == (digest, "abc", "code/x", "s1", 3, 5)
    assert len(digest) == 16


def written(folder: Path) -> Path:
    store = RunStore(folder)
    items = [PlannedItem(n, f"n{n}", 0, f"s{n}", f"s{n}", "c", 0) for n in range(4)]
    store.write_plan("t", ["a note"], [GROUP], items, [(f"s{n}", {"n": n}) for n in range(4)])
    key_of = keys_of("abc", {}, "code/x", 0)
    store.serve(
        [(n, 0, key_of(f"s{n}", 0, REQUEST), f'{{"kind": "x{n}"}}') for n in range(4)],
    )
    store.write_engine("c", {"fingerprint": "abc"})
    store.add_repeats([(0, 0, True, False), (1, 0, False, True), (2, 0, None, False)])
    store.close()
    return folder / STORE


def test_a_store_is_made_with_the_folders_above_it(tmp_path: Path) -> None:
    written(tmp_path / "results" / "sweep" / "run")
    run = StoredRun(tmp_path / "results" / "sweep" / "run")
    assert run.groups() == [GROUP]
    run.close()


def test_everything_is_read_back(tmp_path: Path) -> None:
    written(tmp_path)
    run = StoredRun(tmp_path)
    assert run.notes() == ["a note"]
    assert [item.id for item in run.plan()] == ["s0", "s1", "s2", "s3"]
    assert run.engines() == {"c": {"fingerprint": "abc"}}
    assert run.repeats() == [(0, 0, True, False), (1, 0, False, True), (2, 0, None, False)]
    assert dict(run.samples()) == {f"s{n}": {"n": n} for n in range(4)}
    answers = list(run.answers())
    assert [text for _, text in answers] == [f'{{"kind": "x{n}"}}' for n in range(4)]
    assert run.served() == {n: key.digest for n, (key, _) in enumerate(answers)}
    assert run.work() == [(0, 0.0, 4, 0)]
    assert run.damaged == []
    run.close()


TABLES = {
    "groups": "groups",
    "plan": "plan",
    "notes": "damage",
    "engines": "engines",
    "repeats": "repeats",
    "samples": "samples",
    "answers": "responses",
    "served": "served",
    "work": "work",
    "spent": "spent",
}


@pytest.mark.parametrize("query", TABLES)
def test_whatever_cannot_be_read_is_an_error_that_names_the_file(
    tmp_path: Path, query: str
) -> None:
    path = written(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"DROP TABLE {TABLES[query]}")
        db.execute(f"CREATE TABLE {TABLES[query]} (other TEXT)")
    run = StoredRun(tmp_path)
    with pytest.raises(CkptbenchError, match="the run store is damaged") as raised:
        list(getattr(run, query)())
    assert raised.value.where == str(path)
    run.close()


def test_a_store_of_an_older_version_has_no_repeats_and_no_damage(tmp_path: Path) -> None:
    path = written(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE repeats")
        db.execute("DROP TABLE damage")
    run = StoredRun(tmp_path)
    assert (run.repeats(), run.notes()) == ([], ["a note"])
    run.close()


def test_what_answers_cost_outlives_the_plan_and_is_unknown_where_it_was_not_recorded(
    tmp_path: Path,
) -> None:
    written(tmp_path)
    store = RunStore(tmp_path)
    unknown = Spent(0.0, None, None, None, NOT_RECORDED)
    assert store.spent() == {("c", "code/x"): unknown}
    store.write_plan("t", [], [GROUP], [], [])
    assert store.spent() == {("c", "code/x"): unknown}
    store.serve([], {0: Spent(1.5, 3.0, 10, 2)})
    assert store.spent() == {("c", "code/x"): Spent(1.5, None, None, None, NOT_RECORDED)}
    store.close()
    store = RunStore(tmp_path / "new")
    store.write_plan("t", [], [GROUP], [], [])
    assert store.spent() == {}
    for _ in range(2):
        store.serve([], {0: Spent(1.5, 3.0, 10, 2)})
        store.write_plan("t", [], [GROUP], [], [])
    assert store.spent() == {("c", "code/x"): Spent(3.0, 6.0, 20, 4)}
    assert store.work() == {}
    store.close()


def test_a_record_of_an_older_version_has_defaults() -> None:
    values = {"checkpoint": "c", "benchmark": "b", "protocol": "p", "primary": True, "reducer": {}}
    group = GroupMetadata.of_json({**values, "left_out": ["a"], "of_later": 1})
    assert group == GroupMetadata("c", "b", "p", True, {}, left_out=("a",))
    assert (group.own_checkpoint, group.log_samples, group.metrics) == (False, False, None)
    assert GroupMetadata.of_json({**values, "metrics": ["m"]}).metrics == ("m",)


def test_work_that_counts_nothing_counts_nothing(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    store.add_work(0, 1.5)
    store.add_work(0, 0.5, reused=2)
    store.add_work(0, 0.25, asked=3)
    assert store.work() == {0: (2.25, 3, 2)}
    store.close()


@pytest.mark.parametrize(("many", "shown"), [(1, 1), (3, 3), (4, 3)])
def test_the_first_three_damaged_answers_are_named(tmp_path: Path, many: int, shown: int) -> None:
    path = written(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute("SELECT digest FROM responses ORDER BY rowid LIMIT ?", (many,))
        digests = [digest for (digest,) in rows]
        db.executemany(
            "UPDATE responses SET response = 'y' WHERE digest = ?", [(d,) for d in digests]
        )
    (found,) = faults(path)
    named = ", ".join(digests[:shown]) + (" ..." if many > shown else "")
    assert found == f"{many} answers differ from their checksums: {named}"
    run = StoredRun(tmp_path)
    assert len(list(run.answers())) == 4 - many
    assert run.damaged == digests
    run.close()


def test_stores_set_aside_are_numbered_and_the_newest_comes_first(tmp_path: Path) -> None:
    for number in (1, 2):
        path = written(tmp_path)
        path.write_bytes(b"no database any more " * 100)
        (note,) = set_aside_damaged(tmp_path)
        assert f"damaged-{number}.sqlite" in note
    assert [path.name for path in set_aside(tmp_path)] == ["damaged-2.sqlite", "damaged-1.sqlite"]
    assert not (tmp_path / STORE).exists()


def test_what_stands_beside_a_damaged_store_goes_with_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(b"no database any more " * 100)
    Path(f"{path}-shm").write_bytes(b"index")
    Path(f"{path}-wal").write_bytes(b"")
    assert set_aside_damaged(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        f"damaged-1.sqlite{end}" for end in ("", "-wal", "-shm")
    }


def test_a_store_that_is_whole_or_not_there_stays(tmp_path: Path) -> None:
    assert set_aside_damaged(tmp_path) == []
    written(tmp_path)
    assert set_aside_damaged(tmp_path) == []
    assert (tmp_path / STORE).exists()


def test_of_earlier_runs_so_many_are_looked_at(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        written(tmp_path / name)
    assert len(earlier_runs(tmp_path, "x")) == 3
    assert len(earlier_runs(tmp_path, "x", most=2)) == 2
    assert len(earlier_runs(tmp_path / "a" / PARTS, "x")) == 3  # of a part, the runs beside it


def test_a_plan_that_fails_midway_changes_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    store = RunStore(tmp_path)
    twice = [PlannedItem(n, "same", 0, "s", "s", "c", 0) for n in range(2)]
    with pytest.raises(CkptbenchError, match="cannot be written"):
        store.write_plan("other", [], [], twice, [])
    assert store.token() == "t"
    assert [item.id for item in store.plan()] == ["s0", "s1", "s2", "s3"]
    assert store.groups() == [GROUP]
    store.close()


def test_an_item_is_unreported_when_its_answer_is_stored_and_no_report_came(tmp_path: Path) -> None:
    written(tmp_path)
    store = RunStore(tmp_path)
    assert store.unreported({"n0", "n2"}) == 2
    assert store.unreported({"n0", "n1", "n2", "n3"}) == 0
    store.close()


def test_answers_are_found_in_the_best_of_several_stores(tmp_path: Path) -> None:
    key_of = keys_of("abc", {}, "code/x", 0)
    keys = [key_of(f"s{n}", 0, REQUEST) for n in range(3)]
    for name, numbers in {"own": [0], "first": [0, 1], "second": [0, 1, 2]}.items():
        store = RunStore(tmp_path / name)
        store.add([(keys[n], encode(Generated(name, n, "eos"))) for n in numbers])
        store.close()
    earlier = [tmp_path / "first", tmp_path / "second"]
    store = RunStore(tmp_path / "own", earlier=earlier)
    wanted = [Generated(name, n, "eos") for n, name in enumerate(["own", "first", "second"])]
    assert store.find(keys) == wanted
    assert store.find([]) == []
    store.close()


def test_earlier_stores_of_another_format_or_checkpoint_are_passed_over_in_silence(
    tmp_path: Path,
) -> None:
    old, other, begun = written(tmp_path / "old"), tmp_path / "other", tmp_path / "begun"
    with closing(sqlite3.connect(old)) as db, db:
        db.execute("UPDATE meta SET value = '1' WHERE name = 'format'")
        db.execute("DROP TABLE origins")  # format 1 had none
    written(other)
    begun.mkdir()
    with closing(sqlite3.connect(begun / STORE)) as db, db:
        db.execute("CREATE TABLE something (x)")
    stores = EarlierStores([tmp_path / "old", other, begun])
    found, unreadable = stores.of("abc")
    assert ([*found], unreadable) == ([other / STORE], [])
    assert stores.of("another") == ({}, [])
    stores.close()


def test_a_store_is_given_by_its_folder_or_by_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "r")
    aside = path.rename(path.with_name("damaged-1.sqlite"))
    stores = EarlierStores([aside, tmp_path / "gone"])
    found, unreadable = stores.of("abc")
    assert ([*found], unreadable) == ([aside], [])
    connection = found[aside]
    stores.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_who_reads_while_another_writes_sees_what_it_writes(tmp_path: Path) -> None:
    """Also when the WAL file was empty at the time of opening."""
    store = RunStore(tmp_path)
    with closing(sqlite3.connect(tmp_path / STORE)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not Path(f"{tmp_path / STORE}-wal").stat().st_size
    reader = StoredRun(tmp_path)
    assert reader.groups() == []
    store.write_plan("t", [], [GROUP], [], [])
    assert reader.groups() == [GROUP]
    reader.close()
    store.close()


def test_a_table_that_is_gone_is_noted_and_answers_nothing(tmp_path: Path) -> None:
    path = written(tmp_path)
    store = RunStore(tmp_path)
    key = keys_of("abc", {}, "code/x", 0)("s0", 0, REQUEST)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE origins")
    assert store.find([key]) == [None]
    (_, note) = store.notes()
    assert note.startswith(f"{path} cannot be read (no such table: origins)")
    store.close()


def test_a_folder_whose_store_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / STORE).write_bytes(b"no database, but long enough to be read as one" * 20)
    with pytest.raises(CkptbenchError, match="cannot be read") as raised:
        StoredRun(tmp_path)
    assert raised.value.where == str(tmp_path / STORE)
    with pytest.raises(CkptbenchError, match="holds no"):
        StoredRun(tmp_path / "gone")


def test_a_store_of_a_later_version_is_named(tmp_path: Path) -> None:
    path = written(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = '9' WHERE name = 'format'")
    with pytest.raises(CkptbenchError, match="has format 9"):
        StoredRun(tmp_path)
    assert faults(path) == ["has format 9, this version reads 2"]


def test_a_store_is_shared_by_threads(tmp_path: Path) -> None:
    written(tmp_path)
    store = RunStore(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(store.groups).result() == [GROUP]
        pool.submit(store.note_taken, 3).result()
    assert store.taken() == {3}
    store.close()
