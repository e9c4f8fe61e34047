"""The engine against a plain loop over full logits, and the rules of a fill-mask request."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckptbench._util import rounding
from ckptbench._util.rounding import STEP, rounded
from ckptbench.api.requests import (
    Failed,
    Filled,
    FillMask,
    Generate,
    LogLikelihood,
    Response,
    Skipped,
)
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.engines.masked.engine import MaskedLMEngine

Load = Callable[..., Any]
TEXT = "오래된 시장 골목에는 국수 가게가 많다. 축제 동안 시장 사람들은 국수를 삶는다."


def ask(word: str, left: str, right: str, **rules: Any) -> FillMask:
    """A request with the word standing in its place."""
    text = f"{left}{word}{right}"
    return FillMask(text=text, span=(len(left), len(left) + len(word)), word=word, **rules)


def answers(engine: MaskedLMEngine, requests: Sequence[FillMask]) -> list[Response]:
    pairs = list(engine.answer(requests))
    assert sorted(index for index, _ in pairs) == list(range(len(requests)))
    return [response for _, response in sorted(pairs, key=lambda pair: pair[0])]


def one(engine: MaskedLMEngine, request: FillMask) -> Response:
    return answers(engine, [request])[0]


def filled(engine: MaskedLMEngine, request: FillMask) -> Filled:
    response = one(engine, request)
    assert isinstance(response, Filled)
    return response


def real_requests(**rules: Any) -> list[FillMask]:
    """Words of 1, 2 and 3 tokens at many places of texts of many lengths."""
    lines = (
        "오래된 시장 골목에는 국수 가게가 많다.",
        "국수를 삶는 동안 손님은 시장을 구경한다.",
        "강을 따라 걷는 길은 도시의 자랑이다.",
        "음악가들은 축제에서 새 노래를 들려준다.",
        "배는 바다로 나가고 바다는 배를 돌려보낸다.",
    )
    words = ("시장", "국수", "도시", "가게", "골목", "손님", "노래", "음악가", "자랑", "바다")
    chance = random.Random(5)
    made = []
    for _ in range(60):
        text = " ".join(chance.sample(lines, chance.randint(1, 4)))
        word = chance.choice([word for word in words if word in text])
        start = text.rindex(word)
        made.append(FillMask(text=text, span=(start, start + len(word)), word=word, **rules))
    return made


class PlainLoop:
    """A second, simple implementation: one row at a time, the whole softmax, nothing shared."""

    def __init__(self, loaded: Any) -> None:
        self._model = loaded.model
        self._tokenizer = loaded.tokenizer

    def ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def logprobs(self, left: list[int], filled: tuple[int, ...], n: int, right: list[int]) -> Any:
        import torch

        tokenizer = self._tokenizer
        masks = [tokenizer.mask_token_id] * (n - len(filled))
        row = [tokenizer.cls_token_id, *left, *filled, *masks, *right, tokenizer.sep_token_id]
        with torch.inference_mode():
            logits = self._model(torch.tensor([row])).logits
        return logits[0, 1 + len(left) + len(filled)].log_softmax(-1)

    def beam(
        self, left: list[int], n: int, right: list[int], width: int, top: int
    ) -> list[tuple[float, tuple[int, ...]]]:
        found: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        for step in range(n):
            longer = []
            for score, tokens in found:
                for token, logprob in enumerate(self.logprobs(left, tokens, n, right).tolist()):
                    longer.append((score + logprob, (*tokens, token)))
            found = sorted(longer, key=lambda one: (-one[0], one[1]))
            found = found[: top if step == n - 1 else width]
        return found

    def words(
        self, fillings: Sequence[tuple[float, tuple[int, ...]]]
    ) -> dict[tuple[bool, str], float]:
        """Log probabilities of words: of all fillings that write the same behind the same."""
        sums: dict[tuple[bool, str], float] = {}
        for score, tokens in fillings:
            names = self._tokenizer.convert_ids_to_tokens(list(tokens))
            going_on = names[0].startswith("##") and len(names[0]) > 2
            word = going_on, "".join(name.removeprefix("##") for name in names)
            sums[word] = sums.get(word, 0.0) + math.exp(score)
        return {word: math.log(value) for word, value in sums.items()}

    def chain(self, left: list[int], word: list[int], right: list[int]) -> float:
        return sum(
            float(self.logprobs(left, tuple(word[:step]), len(word), right)[token])
            for step, token in enumerate(word)
        )


@pytest.mark.parametrize(
    ("word", "masks"), [("시장", 1), ("골목", 2), ("음악가", 2), ("the", 3), ("가게", 2)]
)
@pytest.mark.parametrize("beam", [1, 3, 10])
def test_it_agrees_with_the_plain_loop(word: str, masks: int, beam: int, load: Load) -> None:
    loaded = load("bert")
    plain = PlainLoop(loaded)
    left, right = "오래된 ", " 골목에는 국수 가게가 많다"
    assert len(loaded.tokenizer.tokenize(word)) == masks
    expected = plain.beam(plain.ids(left), masks, plain.ids(right), beam, 5)
    response = filled(MaskedLMEngine(loaded), ask(word, left, right, beam=beam, top=5))
    assert response.masks == masks
    assert response.logprobs == pytest.approx([score for score, _ in expected], abs=1e-4)
    decode = loaded.tokenizer.backend_tokenizer.id_to_token
    assert response.candidates == tuple(
        "".join(decode(token).removeprefix("##") for token in tokens) for _, tokens in expected
    )
    asked = tuple(plain.ids(word))
    ranks = [place for place, (_, tokens) in enumerate(expected, 1) if tokens == asked]
    assert response.rank == (ranks[0] if ranks else None)


@pytest.mark.parametrize("masks", [1, 2, 3])
def test_a_word_has_the_rank_that_the_plain_loop_gives_it(masks: int, load: Load) -> None:
    """Words are taken from the plain loop's own list, so that their ranks are known."""
    loaded = load("bert")
    plain = PlainLoop(loaded)
    engine = MaskedLMEngine(loaded)
    left, right = "오래된 ", " 골목에는 국수 가게가 많다"
    words = plain.words(plain.beam(plain.ids(left), masks, plain.ids(right), 40, 200))
    assert masks == 1 or len(words) < 200
    order = sorted(words, key=lambda word: -words[word])
    special = set(loaded.tokenizer.all_special_tokens)
    spelled = [
        (place, word)
        for place, (going_on, word) in enumerate(order, 1)
        if not going_on and not any(name in word for name in special)
        if len(plain.ids(word)) == masks
    ]
    assert spelled
    for place, word in spelled[:5]:
        response = filled(engine, ask(word, left, right, beam=40, top=200))
        assert response.rank == place
        assert response.candidates[place - 1] == word
        assert response.within(place)
        assert not response.within(place - 1)


def favouring(load: Load, **entries: float) -> Any:
    """The little BERT, with more or less of a liking for some entries."""
    import torch

    loaded = load("bert")
    with torch.no_grad():
        for name, more in entries.items():
            index = loaded.tokenizer.convert_tokens_to_ids(name.replace("__", "##"))
            assert index != loaded.tokenizer.unk_token_id
            loaded.model.cls.predictions.decoder.bias[index] += more
    return loaded


def test_a_word_is_hit_in_whatever_pieces_it_is_spelled(load: Load) -> None:
    """`골목` is `골`, `##목` in the text; the model prefers `골`, `목`."""
    loaded = favouring(load, 골=10.0, 목=10.0, __목=9.5)
    plain = PlainLoop(loaded)
    left, right = "오래된 (", ") 국수"
    beam = plain.beam(plain.ids(left), 2, plain.ids(right), 10, 10)
    words = plain.words(beam)
    order = sorted(words, key=lambda word: -words[word])
    response = filled(
        MaskedLMEngine(loaded), ask("골목", left, right, beam=10, top=10, likelihood=True)
    )
    assert len(words) < 10
    assert response.rank == 1 + order.index((False, "골목"))
    assert list(response.candidates) == [word for _, word in order]
    assert response.logprobs == pytest.approx([words[word] for word in order], abs=1e-4)
    # The word's own likelihood stays that of its own tokens.
    own = plain.chain(plain.ids(left), plain.ids("골목"), plain.ids(right))
    assert response.answer_logprob == pytest.approx(own, abs=STEP + 1e-4)
    assert own < words[False, "골목"] - 0.1


def test_the_greedy_filling_is_compared_by_spelling_too(load: Load) -> None:
    """`골골` is `골`, `##골` in the text; the model says `골`, `골`."""
    engine = MaskedLMEngine(favouring(load, 골=30.0))
    assert filled(engine, ask("골골", "오래된 ", " 국수", beam=1, top=1)).rank == 1


def test_a_word_that_goes_on_from_the_one_before_is_another(load: Load) -> None:
    """The model says `##골`, `##골` everywhere: right behind a syllable, wrong behind a sign."""
    engine = MaskedLMEngine(favouring(load, __골=30.0))
    behind_sign, behind_syllable = (
        filled(engine, ask("골골", left, " 국수", beam=10, top=10))
        for left in ("오래된 (", "오래된 시")
    )
    assert behind_sign.candidates[0] == behind_syllable.candidates[0] == "골골"
    assert behind_sign.rank != 1
    assert behind_syllable.rank == 1


def test_options_are_scored_with_what_follows_the_blank(load: Load) -> None:
    """The particle belongs to each option's form, so its tokens count too."""
    loaded = load("bert")
    plain = PlainLoop(loaded)
    left, right = "오래된 ", "에는 국수 가게가 많다"
    options = ("시장", "골목", "바다")
    request = ask("시장", left, right, options=options, top=3)
    response = filled(MaskedLMEngine(loaded), request)
    rest = plain.ids("국수 가게가 많다")
    scores = {o: plain.chain(plain.ids(left), plain.ids(o + "에는"), rest) for o in options}
    ranked = sorted(options, key=lambda option: -scores[option])
    assert response.candidates == tuple(ranked)
    assert response.logprobs == pytest.approx([scores[option] for option in ranked], abs=1e-4)
    assert response.rank == 1 + ranked.index("시장")
    assert response.masks == len(plain.ids("시장에는")) == 2


@pytest.mark.parametrize("word", ["시장", "골목", "음악가", "the"])
@pytest.mark.parametrize("beam", [1, 2, 10])
def test_the_asked_words_likelihood_is_the_chain_over_its_own_tokens(
    word: str, beam: int, load: Load
) -> None:
    """Whatever the beam holds: here the word is mostly not among the candidates."""
    loaded = load("bert")
    plain = PlainLoop(loaded)
    left, right = "오래된 ", " 골목에는 국수 가게가 많다"
    request = ask(word, left, right, beam=beam, top=1, likelihood=True)
    response = filled(MaskedLMEngine(loaded), request)
    chain = plain.chain(plain.ids(left), plain.ids(word), plain.ids(right))
    assert response.answer_logprob == pytest.approx(chain, abs=STEP * response.masks / 2 + 1e-4)
    assert response.answer_logprob == rounded(response.answer_logprob, response.masks)


def test_scoring_the_word_changes_nothing_else(load: Load) -> None:
    loaded = load("bert")
    plain, scored = (
        answers(MaskedLMEngine(loaded), real_requests(top=10, likelihood=wanted))
        for wanted in (False, True)
    )
    assert all(isinstance(each, Filled) and each.answer_logprob is None for each in plain)
    assert all(isinstance(each, Filled) and each.answer_logprob < 0 for each in scored)
    bare = [replace(each, answer_logprob=None) for each in scored if isinstance(each, Filled)]
    assert ranked(bare) == ranked(plain)


def test_a_word_of_one_token_is_scored_without_a_row_of_its_own(load: Load) -> None:
    """The logits that rank the candidates hold it."""
    loaded = load("bert")
    requests = [each for each in real_requests() if each.word in ("시장", "국수", "도시", "바다")]
    rows = []
    for wanted in (False, True):
        engine = MaskedLMEngine(loaded)
        seen: list[int] = []
        hook = loaded.model.register_forward_pre_hook(
            lambda module, args, kwargs, seen=seen: seen.append(len(kwargs["input_ids"])),
            with_kwargs=True,
        )
        list(engine.answer([replace(request, likelihood=wanted) for request in requests]))
        hook.remove()
        rows.append(sum(seen))
    assert len(requests) > 10
    assert rows[0] == rows[1]


def test_the_likelihood_of_an_option_is_that_of_its_form(load: Load) -> None:
    loaded = load("bert")
    left, right = "오래된 ", "에는 국수 가게가 많다"
    options = ("시장", "골목", "바다")
    request = ask("골목", left, right, options=options, top=3, likelihood=True)
    response = filled(MaskedLMEngine(loaded), request)
    assert response.rank is not None
    of_option = response.logprobs[response.rank - 1]
    assert response.answer_logprob == rounded(of_option, response.masks)


def test_one_mask_for_any_word_has_no_likelihood_of_it(load: Load) -> None:
    request = ask("골목", "오래된 ", " 국수", masks="single", window_chars=200, likelihood=True)
    assert filled(MaskedLMEngine(load("bert")), request).answer_logprob is None


@pytest.mark.parametrize("far", [0.0, 1e-6, -1e-6, 4.9e-5])
def test_a_likelihood_at_the_edge_of_its_rounding_is_made_again_in_fp64(
    far: float, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step is set so that the word lies within rounding of an edge: a batch could turn it."""
    loaded = load("bert")
    plain = PlainLoop(loaded)
    left, right = "오래된 ", " 골목에는 국수 가게가 많다"
    chain = plain.chain(plain.ids(left), plain.ids("시장"), plain.ids(right))
    # chain + far is 10.5 steps below nothing: an edge between two multiples.
    monkeypatch.setattr(rounding, "STEP", -(chain + far) / 10.5)
    engine = MaskedLMEngine(loaded)
    request = ask("시장", left, right, likelihood=True, beam=1, top=1)
    assert engine._exact is None
    first = filled(engine, request)
    assert engine._exact is not None
    twenty = answers(MaskedLMEngine(loaded), [request] * 20)
    assert {each.answer_logprob for each in twenty if isinstance(each, Filled)} == {
        first.answer_logprob
    }


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta"])
@pytest.mark.parametrize(
    "rules",
    [
        {"top": 10, "likelihood": True},
        {"top": 1, "beam": 1, "likelihood": True},
        {"masks": "single", "window_chars": 200, "top": 50},
    ],
)
def test_an_answer_does_not_depend_on_the_batch_it_was_in(
    family: str, rules: dict[str, Any], load: Load
) -> None:
    loaded = load(family, seq_len=60)
    requests = real_requests(**rules)
    expected = answers(MaskedLMEngine(loaded, 1), requests)
    order = random.Random(2).sample(range(60), 60)
    for tokens in (2048, 65536):
        engine = MaskedLMEngine(loaded, tokens)
        assert ranked(answers(engine, requests)) == ranked(expected)
        shuffled = answers(engine, [requests[index] for index in order])
        assert ranked(shuffled) == ranked([expected[index] for index in order])
        assert ranked(answers(engine, requests[7:19])) == ranked(expected[7:19])


def ranked(responses: Sequence[Response]) -> list[Any]:
    """What decides an outcome: everything but the last digits of the candidates' logprobs."""
    return [
        replace(response, logprobs=()) if isinstance(response, Filled) else response
        for response in responses
    ]


def test_choices_that_rounding_could_turn_are_made_in_fp64(load: Load) -> None:
    """Two entries a hair apart: fp32 in another batch may swap them, the engine never does."""
    import torch

    loaded = load("bert")
    head = loaded.model.cls.predictions.decoder
    with torch.no_grad():
        weight = head.weight.clone()
        # Each entry from 40 on is the one 40 before it, all but equal.
        for index in range(40, len(weight)):
            weight[index] = weight[index % 40]
        head.weight = torch.nn.Parameter(weight)
        head.bias.copy_(torch.arange(len(weight)).remainder(7) * 1e-6)
    requests = real_requests(top=8)
    expected = answers(MaskedLMEngine(loaded, 1), requests)
    for tokens in (300, 65536):
        assert ranked(answers(MaskedLMEngine(loaded, tokens), requests)) == ranked(expected)


def test_one_mask_stands_for_a_word_of_any_length(load: Load) -> None:
    loaded = load("bert")
    plain = PlainLoop(loaded)
    left, right = "오래된 ", " 골목에는"
    response = filled(MaskedLMEngine(loaded), ask("시장", left, right, masks="single", top=200))
    logprobs = plain.logprobs(plain.ids(left), (), 1, plain.ids(right))
    best = logprobs.topk(200)
    names = [loaded.tokenizer.convert_ids_to_tokens(i) for i in best.indices.tolist()]
    assert response.masks == 1
    assert list(response.candidates) == [name.removeprefix("##") for name in names]
    assert response.rank == names.index("시장") + 1


def test_entries_that_spell_the_same_keep_their_places(load: Load) -> None:
    """`시` and `##시` are two candidates; the word's rank is that of the better one."""
    loaded = load("bert")
    size = len(loaded.tokenizer)
    response = filled(
        MaskedLMEngine(loaded), ask("시", "오래된 ", " 골목에는", masks="single", top=size)
    )
    places = [n for n, candidate in enumerate(response.candidates, 1) if candidate == "시"]
    assert len(places) == 2
    assert response.rank == places[0]


def test_a_word_that_is_no_single_entry_is_skipped(load: Load) -> None:
    engine = MaskedLMEngine(load("bert"))
    request = ask("가게", "오래된 ", "가 많다", masks="single")
    assert one(engine, request) == Skipped("answer_not_a_single_token")
    # Where the protocol reads candidates by containment, such a word can still be hit.
    assert isinstance(one(engine, replace(request, window_chars=200)), Filled)


def test_a_request_of_another_kind_fails_and_the_others_are_answered(load: Load) -> None:
    engine = MaskedLMEngine(load("bert"))
    requests = [Generate("def f():"), ask("시장", "오래된 ", " 골목이다"), LogLikelihood("a", "b")]
    found = dict(engine.answer(requests))
    assert isinstance(found[1], Filled)
    assert found[0] == Failed("a masked language model answers FillMask, not Generate")
    assert found[2] == Failed("a masked language model answers FillMask, not LogLikelihood")


def test_a_word_outside_the_vocabulary_is_skipped(load: Load) -> None:
    engine = MaskedLMEngine(load("bert"))
    assert one(engine, ask("뷁", "오래된 ", "이 많다")) == Skipped("answer_not_in_vocabulary")


def test_the_first_mention_is_in_the_window_or_the_sample_is_skipped(load: Load) -> None:
    """16 tokens, two of them special: 14 hold the mask and what reaches 13 back."""
    engine = MaskedLMEngine(load("bert", seq_len=16))
    near = "시장 " + "강 " * 12
    far = "시장 " + "강 " * 13
    assert isinstance(one(engine, ask("시장", near, " 강 강", keep=(0, 2))), Filled)
    skipped = one(engine, ask("시장", far, " 강 강", keep=(0, 2)))
    assert skipped == Skipped("first_mention_out_of_window")
    assert isinstance(one(engine, ask("시장", far, " 강 강")), Filled)


def test_what_is_kept_decides_what_the_model_sees(load: Load) -> None:
    loaded = load("bert", seq_len=16)
    plain = PlainLoop(loaded)
    left, right = "강 도시 " + "강 " * 12, " 길" * 20
    response = filled(MaskedLMEngine(loaded), ask("도시", left, right, keep=(2, 4), top=3))
    expected = plain.beam(plain.ids("도시 " + "강 " * 12), 1, [], 1, 3)
    assert response.logprobs == pytest.approx([score for score, _ in expected], abs=1e-4)


def test_a_word_of_more_masks_than_the_model_takes_is_over_length(load: Load) -> None:
    engine = MaskedLMEngine(load("bert", seq_len=8))
    assert one(engine, ask("noodles", "강 ", "")) == Skipped("over_length")


def test_a_window_of_characters_grows_with_the_sequence_length(load: Load) -> None:
    """The text is cut `window_chars` from the mask, and the mask stands between the two sides."""
    loaded = load("bert", seq_len=90)
    plain = PlainLoop(loaded)
    left, right = "바다 " * 10 + "길 강 ", "에는 강 " + "바다 " * 10
    request = ask("시장", left, right, masks="single", window_chars=4, top=3)
    expected = plain.beam(plain.ids("길 강 "), 1, plain.ids("에는 강"[:4]), 1, 3)
    response = filled(MaskedLMEngine(loaded), request)
    assert response.logprobs == pytest.approx([score for score, _ in expected], abs=1e-4)


def test_a_row_that_breaks_the_tokenizer_fails_alone(load: Load) -> None:
    engine = MaskedLMEngine(load("bert"))
    good = ask("시장", "오래된 ", " 골목")
    broken = ask("시장", "오래\ud83d된 ", " 골목")
    responses = answers(engine, [good, broken, good])
    assert isinstance(responses[1], Failed)
    assert responses[1].reason == "the text holds half a character, U+D83D, at 2"
    assert "TextInputSequence" in responses[1].detail
    assert responses[0] == responses[2]
    assert isinstance(responses[0], Filled)


def test_a_span_outside_the_text_fails_alone(load: Load) -> None:
    engine = MaskedLMEngine(load("bert"))
    good = ask("시장", "오래된 ", " 골목")
    response = one(engine, replace(good, span=(4, 99)))
    assert isinstance(response, Failed)
    assert "span (4, 99)" in response.reason


def test_nan_weights_fail_every_request_and_are_noted(load: Load) -> None:
    import torch

    loaded = load("bert")
    with torch.no_grad():
        loaded.model.bert.encoder.layer[0].output.dense.bias[0] = math.nan
    responses = answers(MaskedLMEngine(loaded), real_requests()[:5])
    for response in responses:
        assert isinstance(response, Failed)
        assert response.reason.startswith("NaN logits")


def test_the_engine_says_what_its_answers_hang_on(load: Load) -> None:
    loaded = load("bert", seq_len=40)
    engine = MaskedLMEngine(loaded)
    assert engine.settings == {"seq_len": 40, "dtype": "fp32"}
    assert engine.fingerprint == loaded.fingerprint


def test_no_requests_no_answers(load: Load) -> None:
    assert list(MaskedLMEngine(load("bert")).answer([])) == []


def test_answers_arrive_before_all_are_there(load: Load) -> None:
    """Whoever shows progress sees the first answers while the model still works."""
    loaded = load("bert")
    calls = []
    engine = MaskedLMEngine(loaded, 64)
    with loaded.model.register_forward_pre_hook(lambda module, args: calls.append(1)):
        arriving = engine.answer(real_requests(beam=1, top=1))
        next(arriving)
        early = len(calls)
        assert len(list(arriving)) == 59
    assert early < len(calls) / 4


def ko_small() -> Path:
    folder = os.environ.get("CKPTBENCH_MODELS")
    if not folder:
        pytest.skip("CKPTBENCH_MODELS is unset: no trained model to try")
    return Path(folder) / "ko-small" / "checkpoint-14800"


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    [{"top": 5, "likelihood": True}, {"masks": "single", "window_chars": 200, "top": 50}],
)
def test_with_a_trained_model_answers_do_not_depend_on_the_batch(rules: dict[str, Any]) -> None:
    from ckptbench.fixtures.checkpoints.huggingface import load_masked_lm
    from ckptbench.fixtures.checkpoints.resolve import resolve

    loaded = load_masked_lm(resolve(str(ko_small())), LoadOptions(device="cpu"))
    requests = real_requests(**rules)
    expected = ranked(answers(MaskedLMEngine(loaded, 1), requests))
    for tokens in (2048, 65536):
        assert ranked(answers(MaskedLMEngine(loaded, tokens), requests)) == expected
    assert ranked(answers(MaskedLMEngine(loaded), requests[::-3])) == expected[::-3]
