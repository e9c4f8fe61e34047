"""The top of the page: which model, on how many samples, when, and what was decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..._util import text as words
from ...analysis.conclusions import Conclusions
from ...readers.result import Result
from ..conclusion import Conclusion, gate_conclusions, summaries_of
from ..essentials import verdict_phrase
from ..overview import CheckpointRow, Overview


def title(results: Sequence[Result], conclusions: Conclusions, table: Overview) -> str:
    """`checkpoint-655 of base: 2,400 samples, 2025-01-02`: the model, n and the date."""
    names = [row.label for row in table.rows]
    runs = words.listed((run.run for run in conclusions.runs if run.run), 2)
    if len(names) > 1 or not names:
        names = [words.counted(len(names), "checkpoint")]
    model = " of ".join(filter(None, [*names, runs]))
    counts = sorted({samples for row in table.rows if (samples := _samples(row))})
    days = sorted({summary.started[:10] for summary in summaries_of(results)})
    n = _from_to([words.count(count) for count in counts])
    facts = ", ".join(filter(None, [f"{n} samples" if n else "", _from_to(days)]))
    return f"{model}: {facts}" if facts else model


def _from_to(ordered: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys([ordered[0], ordered[-1]])) if ordered else ""


def _samples(row: CheckpointRow) -> int:
    """How many samples the gated scores are of."""
    groups = {b.protocol for b in row.measured.benchmarks if b.is_group} if row.measured else ()
    own = (b for b in row.measurement.primary_benchmarks() if b.protocol not in groups)
    return sum(max((score.n for score in bench.scores), default=0) for bench in own)


def about(results: Sequence[Result], table: Overview) -> str:
    """`run tuesday; baseline best.json; gate regress`."""
    runs = words.listed((r.summary.run_id if r.summary else r.path.name for r in results), 2)
    found = (row.measured.baseline for row in table.rows if row.measured)
    baselines = words.listed(dict.fromkeys(filter(None, found)), 2)
    gates = dict.fromkeys(summary.gate for summary in summaries_of(results))
    facts = {"run": runs, "baseline": baselines or "none", "gate": words.listed(gates, 2)}
    return "; ".join(f"{name} {value}" for name, value in facts.items() if value)


def decisions(
    results: Sequence[Result], conclusions: Conclusions
) -> tuple[tuple[Conclusion, str], ...]:
    """`(sentence, run)`: the gate's of each run, else the first that is concluded."""
    if found := gate_conclusions(results):
        return found
    nothing = "no conclusion: there is one checkpoint and no baseline to compare it with"
    if not any(run.measurements for run in conclusions.runs):
        nothing = "no conclusion: nothing was measured"
    return ((Conclusion("plain", [*conclusions.sentences, nothing][0]), ""),)


def recommended(table: Overview) -> Iterator[str]:
    """`checkpoint-6000, the best score: 48.53%; against the baseline: identical` of each run."""
    for row in table.rows:
        if row.recommended:
            cell = row.cells[table.metrics.index(row.recommended)]
            known = verdict_phrase(row.measured) if row.measured else ""
            against = f"; against the baseline: {known}" if known else ""
            yield f"{row.label}, the best {row.recommended}: {cell.value}{against}"
