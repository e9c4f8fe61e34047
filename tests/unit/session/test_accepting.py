"""What an engine of one's own gives is an answer only where its numbers are numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, nan
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from ckptbench.api.requests import (
    CompoundRequest,
    CompoundResponse,
    Failed,
    Filled,
    Generated,
    Likelihood,
    LogLikelihood,
    Request,
    Response,
    Skipped,
)
from ckptbench.results.answers import decode, encode
from ckptbench.session.compound import accepted, answer

ODD = [nan, inf, -inf, np.float64("nan"), np.float64("-inf")]
PLAIN = [
    Filled(("a", "b"), (-0.5, -7.0), 2, 1),
    Filled(("a",), (-0.5,), None, 2, answer_logprob=None),
    Filled(("a",), (-0.5,), 1, 2, answer_logprob=-7.31),
    Filled((), (), None, 3),
    Generated("한국 🙂", 3, "eos"),
    Generated("", 0, "eos", null=True),
    Likelihood(-1234.5, False, 7),
    Likelihood(0, True, 1),
    CompoundResponse((Likelihood(-1.5, True, 1), Generated("a", 1, "length"))),
    CompoundResponse(()),
    Skipped("too_long"),
]


@pytest.mark.parametrize("response", [*PLAIN, Failed("the server said no")])
def test_a_valid_response_passes_as_it_is(response: Response) -> None:
    assert accepted(response) is response


@pytest.mark.parametrize("response", PLAIN)
def test_what_is_accepted_comes_back_from_the_store_as_it_was(response: Any) -> None:
    back = decode(encode(response))
    assert back == response
    assert repr(back) == repr(response)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("spoil", "field"),
    [
        (lambda x: Likelihood(x, False, 2), "logprob"),
        (lambda x: Likelihood(-1.0, False, x), "tokens"),
        (lambda x: Filled(("a", "b"), (-0.5, x), 1, 1), "logprobs"),
        (lambda x: Filled(("a", "b"), [-0.5, x], 1, 1), "logprobs"),
        (lambda x: Filled(("a",), (-0.5,), 1, 1, answer_logprob=x), "answer_logprob"),
        (lambda x: Generated("a", x, "eos"), "tokens"),
        (lambda x: CompoundResponse((Likelihood(-1.0, True, 1), Likelihood(x, True, 1))), "parts"),
        (lambda x: CompoundResponse((Generated("a", 1, "eos"), Generated("a", x, "eos"))), "parts"),
    ],
)
def test_a_number_that_is_not_finite_is_a_failure_that_names_it(
    odd: float, spoil: Any, field: str
) -> None:
    found = accepted(spoil(odd))
    assert found == Failed(f"the engine gave {float(odd)} as {field}, so there is no valid answer")


def test_half_a_character_is_a_failure() -> None:
    found = accepted(Generated("a\ud83d", 1, "eos"))
    assert isinstance(found, Failed)
    assert "half a surrogate pair as text" in found.reason


@pytest.mark.parametrize("thing", ["text", None, 3, [nan], object()])
def test_what_is_no_response_is_left_to_others(thing: Any) -> None:
    assert accepted(thing) is thing


class Own:
    """An engine of one's own: each request's text is the number that it answers with."""

    fingerprint = "own"
    settings: Mapping[str, Any] = MappingProxyType({})

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        for index, request in enumerate(requests):
            assert isinstance(request, LogLikelihood)
            yield index, Likelihood(float(request.continuation), True, 1)


def test_every_engine_passes_the_check_in_whole_requests_and_in_parts() -> None:
    one, odd = LogLikelihood("", "-1"), LogLikelihood("", "nan")
    found = dict(
        answer(Own(), [one, odd, CompoundRequest((one, odd)), CompoundRequest((one, one))], 3)
    )
    assert found[0] == Likelihood(-1.0, True, 1)
    assert isinstance(found[1], Failed)
    assert isinstance(found[2], Failed)
    assert found[3] == CompoundResponse((Likelihood(-1.0, True, 1),) * 2)
