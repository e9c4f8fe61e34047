"""The top of the page: which model, on how many samples, when, and what was decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..._util import text as words
from ..._util.language import counted, listed, tr
from ...analysis.conclusions import Conclusions
from ...readers.result import Result
from ..conclusion import Conclusion, gate_conclusions, summaries_of
from ..essentials import verdict_phrase
from ..overview import CheckpointRow, Overview


def title(results: Sequence[Result], conclusions: Conclusions, table: Overview) -> str:
    """`checkpoint-655 of base: 2,400 samples, 2025-01-02`: the model, n and the date."""
    names = [row.label for row in table.rows]
    runs = listed((run.run for run in conclusions.runs if run.run), 2)
    if len(names) > 1 or not names:
        names = [counted(len(names), "checkpoint")]
    model = "".join(names)
    if runs:
        model = tr("{checkpoint} of {run}", checkpoint=model, run=runs)
    counts = sorted({samples for row in table.rows if (samples := _samples(row))})
    days = sorted({summary.started[:10] for summary in summaries_of(results)})
    n = from_to([words.count(count) for count in counts])
    facts = ", ".join(filter(None, [tr("{n} samples", n=n) if n else "", from_to(days)]))
    return f"{model}: {facts}" if facts else model


def from_to(ordered: Sequence[str]) -> str:
    """The first and the last of several in order; one where they are equal."""
    if not ordered or ordered[0] == ordered[-1]:
        return "".join(ordered[:1])
    return tr("{first} to {last}", first=ordered[0], last=ordered[-1])


def _samples(row: CheckpointRow) -> int:
    """How many samples the gated scores are of."""
    groups = {b.protocol for b in row.measured.benchmarks if b.is_group} if row.measured else ()
    own = (b for b in row.measurement.primary_benchmarks() if b.protocol not in groups)
    return sum(max((score.n for score in bench.scores), default=0) for bench in own)


def about(results: Sequence[Result], table: Overview) -> str:
    """`run tuesday; baseline best.json; gate regress`."""
    runs = listed((r.summary.run_id if r.summary else r.path.name for r in results), 2)
    found = (row.measured.baseline for row in table.rows if row.measured)
    baselines = listed(dict.fromkeys(filter(None, found)), 2)
    gates = dict.fromkeys(summary.gate for summary in summaries_of(results))
    facts = [
        tr("run {name}", name=runs) if runs else "",
        tr("baseline {name}", name=baselines or tr("none")),
        tr("gate {name}", name=listed(gates, 2)) if gates else "",
    ]
    return "; ".join(filter(None, facts))


def decisions(
    results: Sequence[Result], conclusions: Conclusions
) -> tuple[tuple[Conclusion, str], ...]:
    """`(sentence, run)`: the gate's of each run, else the first that is concluded."""
    if found := gate_conclusions(results):
        return found
    nothing = tr("no conclusion: there is one checkpoint and no baseline to compare it with")
    if not any(run.measurements for run in conclusions.runs):
        nothing = tr("no conclusion: nothing was measured")
    return ((Conclusion("plain", [*conclusions.sentences, nothing][0]), ""),)


def recommended(table: Overview) -> Iterator[str]:
    """`checkpoint-6000, the best score: 48.53%; against the baseline: identical` of each run."""
    for row in table.rows:
        if row.recommended:
            cell = row.cells[table.metrics.index(row.recommended)]
            known = verdict_phrase(row.measured) if row.measured else ""
            against = tr("; against the baseline: {verdict}", verdict=known) if known else ""
            sentence = tr(
                "{checkpoint}, the best {metric}: {value}",
                checkpoint=row.label,
                metric=row.recommended,
                value=cell.value,
            )
            yield sentence + against
