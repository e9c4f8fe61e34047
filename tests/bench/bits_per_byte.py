"""How many samples a verdict needs by the share of right answers, and by bits per byte.

    CKPTBENCH_MODELS=... CKPTBENCH_DATA=... python tests/bench/bits_per_byte.py

Real@K samples are built from KoBEST's passages, one noun a text so that samples are independent,
and asked of each checkpoint of `ko-small`. Printed are the values, and for each two neighbours of
the training the n that a one-sided test at 0.05 needs for 80% power, if the difference and its
spread are those observed:

- a share: McNemar's test by its normal approximation (Connor 1987), of the discordant share d and
  the difference D: n = (z_a sqrt(d) + z_b sqrt(d - D^2))^2 / D^2;
- bits per byte: n = ((z_a + z_b) s / m)^2, of the paired differences' mean m and deviation s.

Then what bits per byte cost: processor time of the same requests with them and without, in turns.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, sqrt
from pathlib import Path
from statistics import NormalDist, fmean, median, stdev

from ckptbench.api.protocol import RequestContext
from ckptbench.api.requests import Filled, FillMask
from ckptbench.api.sample import Sample
from ckptbench.checkpoints.kind import LoadOptions
from ckptbench.fixtures.checkpoints.huggingface import load_masked_lm
from ckptbench.fixtures.checkpoints.resolve import resolve
from ckptbench.fixtures.datasets import real_k, real_k_builder
from ckptbench.fixtures.datasets.io import rows
from ckptbench.fixtures.datasets.real_k import WHOLE_WORD
from ckptbench.fixtures.engines.masked.engine import MaskedLMEngine
from ckptbench.scores.reducers import bits_per_byte

CORPUS = ("kobest/BoolQ_test.tsv", "kobest/BoolQ_dev.tsv")
CHECKPOINTS = (400, 5000, 14800, 15200)
ALPHA, POWER = 0.05, 0.8
_Z = NormalDist().inv_cdf(1 - ALPHA), NormalDist().inv_cdf(POWER)


@dataclass(frozen=True, slots=True)
class Answers:
    """What one checkpoint came to, by sample.

    Attributes:
        at: 0/1 outcomes for each K.
        bits: bits per byte of the noun.
    """

    at: dict[int, list[float]]
    bits: list[float]


def n_by_share(before: Sequence[float], after: Sequence[float]) -> float:
    """Samples that McNemar's one-sided test needs; infinite without a difference."""
    differences = [b - a for a, b in zip(before, after, strict=True)]
    gap, discordant = fmean(differences), fmean(map(abs, differences))
    if not gap:
        return float("inf")
    return (_Z[0] * sqrt(discordant) + _Z[1] * sqrt(discordant - gap**2)) ** 2 / gap**2


def n_by_mean(before: Sequence[float], after: Sequence[float]) -> float:
    """Samples that a one-sided paired test of the mean needs; infinite without a difference."""
    differences = [b - a for a, b in zip(before, after, strict=True)]
    gap = fmean(differences)
    return (sum(_Z) * stdev(differences) / gap) ** 2 if gap else float("inf")


def _samples(data: Path) -> list[Sample]:
    texts = (
        text for name in CORPUS for text in rows.column_texts(rows.tsv_rows(data / name), "Text")
    )
    return list(real_k_builder.build(texts, name="kobest", per_text=1).samples)


def _engine(models: Path, step: int) -> MaskedLMEngine:
    spec = str(models / "ko-small" / f"checkpoint-{step}")
    return MaskedLMEngine(load_masked_lm(resolve(spec), LoadOptions(device="cpu", dtype="fp32")))


def _ask(samples: Sequence[Sample]) -> list[FillMask]:
    asked = [WHOLE_WORD.ask(sample, RequestContext(top=5)) for sample in samples]
    return [request for request in asked if isinstance(request, FillMask)]


def _answers(engine: MaskedLMEngine, samples: Sequence[Sample]) -> dict[str, Filled]:
    found = engine.answer(_ask(samples))
    return {samples[i].id: answer for i, answer in found if isinstance(answer, Filled)}


def _measured(filled: dict[str, Filled], kept: Sequence[Sample]) -> Answers:
    answers = [filled[sample.id] for sample in kept]
    bits = [
        bits_per_byte(answer.answer_logprob, sample["answer"])
        for answer, sample in zip(answers, kept, strict=True)
    ]
    return Answers({k: [float(a.within(k)) for a in answers] for k in (1, 5)}, bits)


def _print_values(by_step: dict[int, Answers]) -> None:
    print(f"{'step':>12}  {'Real@1':>8}  {'Real@5':>8}  {'bits per byte':>13}")
    for step, answers in by_step.items():
        shares = "  ".join(f"{fmean(answers.at[k]):8.2%}" for k in (1, 5))
        print(f"{step:>12}  {shares}  {fmean(answers.bits):13.3f}")


def _print_needed(by_step: dict[int, Answers]) -> None:
    print(f"\ndifference, and n for {POWER:.0%} power at one-sided alpha {ALPHA}")
    print(f"{'steps':>16}{'Real@1':>18}{'Real@5':>18}{'bits per byte':>18}")
    for (step, before), (later, after) in zip(
        list(by_step.items()), list(by_step.items())[1:], strict=False
    ):
        cells = [
            f"{100 * (fmean(after.at[k]) - fmean(before.at[k])):+.1f} pp: "
            f"{_whole(n_by_share(before.at[k], after.at[k]))}"
            for k in (1, 5)
        ]
        bits = _whole(n_by_mean(before.bits, after.bits))
        cells.append(f"{fmean(after.bits) - fmean(before.bits):+.3f}: {bits}")
        print(f"{step:>7} to {later:>5}" + "".join(f"{cell:>18}" for cell in cells))


def _whole(n: float) -> str:
    return f"{ceil(n):,}" if isfinite(n) else "no difference"


def _cost(engine: MaskedLMEngine, samples: Sequence[Sample], turns: int) -> float:
    """Processor time with bits per byte over that without, the median over the turns."""
    plain = [replace(request, likelihood=False) for request in _ask(samples)]
    scored = _ask(samples)

    def seconds(answer: Callable[[], object]) -> float:
        started = time.process_time()
        answer()
        return time.process_time() - started

    seconds(lambda: list(engine.answer(scored)))  # the fp64 model is made here
    ratios = []
    for _ in range(turns):
        without = seconds(lambda: list(engine.answer(plain)))
        ratios.append(seconds(lambda: list(engine.answer(scored))) / without)
    return median(ratios)


def main() -> None:
    """Print both tables and the cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5, help="of the measurement of cost")
    parser.add_argument("--limit", type=int, default=300, help="samples at most")
    parser.add_argument("--timed", type=int, default=100, help="samples of that measurement")
    parser.add_argument("--real-data", type=Path, help="a file of Real@K samples instead")
    arguments = parser.parse_args()
    models, data = (Path(os.environ[f"CKPTBENCH_{name}"]) for name in ("MODELS", "DATA"))
    path = arguments.real_data
    samples = (list(real_k.load(path)) if path else _samples(data))[: arguments.limit]
    engines = {step: _engine(models, step) for step in CHECKPOINTS}
    filled = {step: _answers(engine, samples) for step, engine in engines.items()}
    kept = [sample for sample in samples if all(sample.id in each for each in filled.values())]
    source = path or "KoBEST BoolQ, one a text"
    print(f"{len(kept)} samples of {source} ({len(samples) - len(kept)} skipped)\n")
    by_step = {step: _measured(each, kept) for step, each in filled.items()}
    _print_values(by_step)
    _print_needed(by_step)
    ratio = _cost(engines[CHECKPOINTS[2]], kept[: arguments.timed], arguments.turns)
    print(f"\nprocessor time with bits per byte: {ratio:.3f} of that without")


if __name__ == "__main__":
    main()
