"""Every sequence can be read off its row, and what sequences have in common stands once."""

from __future__ import annotations

import numpy as np
import pytest

from ckptbench.fixtures.engines.causal.prefix_tree import Row, Sharing, Trunk, arrange

ALL = Sharing(branches=True, trunks=True, longest=10_000, trunk_saves=100)
NONE = Sharing(branches=False, trunks=False, longest=0)


def sequence(row: Row, trunk: Trunk, scored: np.ndarray) -> list[int]:
    """The sequence that ends at a node, read along what the node attends to."""
    last = int(scored[-1])
    seen = [at for at in range(last + 1) if row.ends[at] > last]
    assert row.depths[seen].tolist() == list(range(len(trunk.ids), len(trunk.ids) + len(seen)))
    assert seen[len(seen) - len(scored) :] == scored.tolist()
    return [*trunk.ids.tolist(), *row.ids[seen].tolist()]


def check(sequences: list[list[int]], wanted: list[int], sharing: Sharing) -> list[Trunk]:
    trunks = arrange(sequences, wanted, sharing)
    found: dict[int, list[int]] = {}
    for trunk in trunks:
        for row in trunk.rows:
            for member, scored in zip(row.members, row.scored, strict=True):
                assert len(scored) == wanted[member]
                assert member not in found
                found[member] = sequence(row, trunk, scored)
    assert [found[index] for index in range(len(sequences))] == sequences
    return trunks


def tokens(trunks: list[Trunk]) -> int:
    return sum(len(trunk.ids) + sum(len(row.ids) for row in trunk.rows) for trunk in trunks)


def drawn(seed: int) -> tuple[list[list[int]], list[int]]:
    """Sequences of few tokens, so that many begin alike, some of them twice."""
    numbers = np.random.default_rng(seed)
    stems = [numbers.integers(0, 3, numbers.integers(1, 60)).tolist() for _ in range(3)]
    sequences = []
    for _ in range(int(numbers.integers(1, 40))):
        stem = stems[int(numbers.integers(0, 3))][: int(numbers.integers(0, 60))]
        sequences.append([*stem, *numbers.integers(0, 3, numbers.integers(1, 12)).tolist()])
    sequences += sequences[:3]
    return sequences, [int(numbers.integers(1, len(ids) + 1)) for ids in sequences]


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize(
    "sharing",
    [
        ALL,
        NONE,
        Sharing(branches=True, trunks=False, longest=10_000, row_tokens=30),
        Sharing(branches=False, trunks=True, longest=10_000, trunk_saves=50),
        Sharing(branches=True, trunks=True, longest=40, row_tokens=30, trunk_saves=50),
    ],
)
def test_every_sequence_stands_in_one_row(seed: int, sharing: Sharing) -> None:
    trunks = check(*drawn(seed), sharing)
    rows = [(trunk, row) for trunk in trunks for row in trunk.rows]
    if not sharing.branches:
        assert not any(row.branches for _, row in rows)
    if not sharing.trunks:
        assert not any(len(trunk.ids) for trunk in trunks)
    for trunk, row in rows:
        if row.branches or len(trunk.ids):
            assert len(trunk.ids) + len(row.ids) <= sharing.longest


def test_choices_share_their_context() -> None:
    context = list(range(100, 160))
    choices = [[1, 2, 3, 4], [5, 6, 7], [1, 2, 8, 9, 9]]
    trunks = check([[*context, *choice] for choice in choices], [4, 3, 5], ALL)
    assert tokens(trunks) == 60 + 4 + 3 + 3
    (trunk,) = trunks
    assert len(trunk.rows) == 1
    assert trunk.rows[0].branches


def test_choices_of_one_token_are_read_from_one_place() -> None:
    """Their last token is only scored, so the model reads the same for each."""
    trunks = check([[1, 2, 3]] * 4, [1] * 4, NONE)
    assert tokens(trunks) == 3
    assert [scored.tolist() for scored in trunks[0].rows[0].scored] == [[2]] * 4


def test_documents_go_on_from_the_same_examples() -> None:
    examples = list(range(1000, 1600))
    documents = [[*range(n * 50, n * 50 + 40)] for n in range(20)]
    choices = [[1, 2], [3, 4, 5]]
    sequences = [[*examples, *document, *choice] for document in documents for choice in choices]
    trunks = check(sequences, [2, 3] * 20, ALL)
    assert tokens(trunks) == 600 + 20 * (40 + 2 + 3)
    assert len(trunks[0].rows) == 20


@pytest.mark.parametrize("choices", [[[1]] * 4, [[1, 2], [3, 4]]])
def test_documents_that_share_a_word_are_rows_of_their_own(choices: list[list[int]]) -> None:
    """What the choices of each save is no reason to attend across documents."""
    documents = [[7, *range(n * 50 + 10, n * 50 + 50)] for n in range(5)]
    sequences = [[*document, *choice] for document in documents for choice in choices]
    (trunk,) = check(sequences, [1] * len(sequences), ALL)
    assert [len(row.members) for row in trunk.rows] == [len(choices)] * 5


def test_a_trunk_behind_another_pays_for_that_one_too() -> None:
    """It reads the other's tokens again."""
    examples, opening = list(range(1000, 1300)), list(range(2000, 2040))
    documents = [[n, *range(n * 100, n * 100 + 90)] for n in range(1, 21)]
    sequences = [[*examples, *opening, *document] for document in documents[:8]]
    sequences += [[*examples, *document] for document in documents[8:]]
    sharing = Sharing(branches=False, trunks=True, longest=10_000, trunk_saves=100)
    (trunk,) = check(sequences, [1] * 20, sharing)
    assert trunk.ids.tolist() == examples


def test_a_trunk_ends_before_what_is_scored() -> None:
    sequences = [[*range(200), n] for n in range(50)]
    (trunk,) = check(sequences, [101] * 50, Sharing(False, True, 10_000, trunk_saves=10))
    assert len(trunk.ids) == 100


def test_a_beginning_too_short_or_too_rare_is_no_trunk() -> None:
    short = [[*range(20), 100 + n, *range(40)] for n in range(50)]
    rare = [[*range(60), 100 + n, *range(1000)] for n in range(2)]
    assert not any(len(trunk.ids) for trunk in check(short, [1] * 50, ALL))
    assert not any(len(trunk.ids) for trunk in check(rare, [1] * 2, ALL))


def test_two_sets_of_examples_are_two_trunks() -> None:
    one, two = list(range(1000, 1100)), list(range(2000, 2100))
    sequences = [[*examples, n, n + 1, *range(10)] for examples in (one, two) for n in range(30)]
    sharing = Sharing(branches=False, trunks=True, longest=10_000, trunk_saves=100)
    trunks = check(sequences, [1] * 60, sharing)
    assert sorted(trunk.ids.tolist() for trunk in trunks) == [one, two]


def test_growing_sequences_are_one_row() -> None:
    sequences = [list(range(n)) for n in range(1, 3000, 7)]
    trunks = check(sequences, [1] * len(sequences), NONE)
    assert tokens(trunks) == max(map(len, sequences))


def test_a_beginning_stands_alone_where_a_longer_text_would_change_it() -> None:
    sequences = [list(range(40)), list(range(60)), list(range(60))]
    apart = Sharing(branches=False, trunks=False, longest=0, beginnings=False)
    trunks = check(sequences, [1] * 3, apart)
    assert sorted(len(row.members) for row in trunks[0].rows) == [1, 2]


def test_no_sequences_are_no_rows() -> None:
    assert arrange([], [], ALL) == []
