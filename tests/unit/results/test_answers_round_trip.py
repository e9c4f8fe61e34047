"""An answer of plain values comes back from the store; what cannot be stored is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptbench import CompoundResponse, Filled, Generated, Likelihood, Skipped
from ckptbench.api.requests import Answer
from ckptbench.results.answers import decode, encode

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 2**63 - 1)
GENERATED = st.builds(
    Generated, TEXTS, COUNTS, st.sampled_from(["stop", "eos", "length"]), st.booleans()
)
SINGLE = st.one_of(
    GENERATED,
    st.builds(Likelihood, FLOATS, st.booleans(), COUNTS),
    st.builds(
        Filled,
        st.lists(TEXTS).map(tuple),
        st.lists(FLOATS).map(tuple),
        st.none() | COUNTS,
        COUNTS,
        st.none() | FLOATS,
    ),
)
ANSWERS = SINGLE | st.builds(Skipped, TEXTS) | st.lists(SINGLE).map(tuple).map(CompoundResponse)


@given(ANSWERS)
@settings(max_examples=150, deadline=None)
def test_an_answer_comes_back_as_it_was(answer: Answer) -> None:
    text = encode(answer)
    assert text.encode().decode() == text
    assert decode(text) == answer


@given(GENERATED, st.characters(categories=["Cs"]))
@settings(max_examples=50, deadline=None)
def test_half_a_character_is_refused(answer: Generated, half: str) -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        encode(replace(answer, text=f"{answer.text}{half}."))
