import pytest

from ckptbench.fixtures.text.tokens import before_stop, first_stop, window_tokens


def test_the_first_of_several_stop_strings_counts() -> None:
    assert first_stop("a = 1\nclass B:\ndef f", ("\ndef", "\nclass")) == 5
    assert first_stop("a = 1", ("\ndef",)) is None
    assert first_stop("a = 1", ("",)) is None


def test_a_text_is_cut_before_it() -> None:
    assert before_stop("x\n\ny", ("\n",)) == ("x", True)
    assert before_stop("x", ("\n",)) == ("x", False)


@pytest.mark.parametrize(("stop", "tokens"), [("\n", 3), ("\nclass", 8), ("끝", 5)])
def test_a_token_spells_at_least_a_byte(stop: str, tokens: int) -> None:
    assert window_tokens(["#", stop]) == tokens
