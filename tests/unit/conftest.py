"""What several rooms' tests need: folders of runs and of checkpoints, made without a model."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from ckptbench.api.requests import Generated
from ckptbench.api.sample import content_hash
from ckptbench.config.options import Options
from ckptbench.results.answers import Key, encode
from ckptbench.results.outcome import Outcome
from ckptbench.results.store import RunStore
from ckptbench.results.stored_run import GroupMetadata, PlannedItem
from ckptbench.results.summary import Summary
from ckptbench.runs.fold import fold_run
from ckptbench.runs.write import write_files
from ckptbench.scores.reducers import TopK, spec_of
from ckptbench.scores.score import Reducer

# What a sample came to in each of its trials: a value for each k, or the word of a status.
Trials = Sequence[Sequence[float] | str]


def make_run(
    folder: Path,
    checkpoints: Mapping[str, Mapping[str, Trials]],
    *,
    protocol: str = "real/whole-word",
    reducer: Reducer | None = None,
    dataset: str = "passages",
    fingerprint: str = "",
    seq_len: int = 512,
    run: str = "base",
    clusters: Mapping[str, str] | None = None,
    started: str = "2026-01-01T00:00:00+00:00",
    ended: bool = True,
    step: int | None = None,
    steps_per_epoch: int | None = None,
) -> Path:
    """Leave a run's folder: its samples' trials by checkpoint and id of the sample.

    Without `ended`, only what a session that was killed leaves.
    """
    benchmark = protocol.partition("/")[0]
    store = RunStore(folder)
    groups: list[GroupMetadata] = []
    items: list[PlannedItem] = []
    outcomes: dict[str, Outcome] = {}
    samples: dict[str, dict[str, str]] = {}
    answers, served = [], []
    for number, (name, trials_of) in enumerate(checkpoints.items()):
        groups.append(
            GroupMetadata(
                checkpoint=name,
                spec=f"runs/{run}/{name}",
                run=run,
                benchmark=benchmark,
                protocol=protocol,
                primary=True,
                reducer=spec_of(reducer or TopK((1, 5))),
                dataset=dataset,
                source=f"{dataset}.txt",
                licence="Apache-2.0",
                own_checkpoint=True,
                step=step,
            )
        )
        for sample, trials in trials_of.items():
            fields = {"text": f"{sample} of {dataset}, with a word that returns", "answer": "word"}
            digest_of = content_hash(fields)
            samples[digest_of] = fields
            for trial, outcome in enumerate(trials):
                prefix = f"{name}/" if len(checkpoints) > 1 else ""
                suffix = f"-t{trial:02d}" if len(trials) > 1 else ""
                nodeid = f"benchmarks/test_{benchmark}.py::test[{prefix}{sample}{suffix}]"
                cluster = (clusters or {}).get(sample, sample)
                position = len(items)
                items.append(
                    PlannedItem(position, nodeid, number, sample, digest_of, cluster, trial)
                )
                outcomes[nodeid] = _recorded(outcome)
                if isinstance(outcome, str):
                    continue
                digest = content_hash([name, fingerprint, protocol, digest_of, trial])
                key = Key(digest, fingerprint or name, protocol, digest_of, trial, 0)
                answers.append((key, encode(Generated(f"{outcome} by {folder.name}", 1, "eos"))))
                served.append((position, digest))
    store.write_plan("token", [], groups, items, samples.items())
    store.add(answers, served)
    for number, name in enumerate(checkpoints):
        facts = {"fingerprint": fingerprint or name, "settings": {"seq_len": seq_len}, "notes": []}
        store.write_engine(name, facts)
        store.add_work(number, 1.5, len(checkpoints[name]), 0)
    if ended:
        options = Options(run_id=folder.name, steps_per_epoch=steps_per_epoch)
        _end(folder, store, outcomes, started, options)
    store.close()
    return folder


def _recorded(outcome: Sequence[float] | str) -> Outcome:
    if isinstance(outcome, str):
        return Outcome(outcome, (), "no answer was obtained" if outcome == "error" else "")
    return Outcome("passed" if outcome[0] >= 1 else "missed", tuple(outcome))


def _end(
    folder: Path, store: RunStore, outcomes: dict[str, Outcome], started: str, options: Options
) -> None:
    folded = fold_run(store, outcomes, options, None, created=started)
    complete = all(b.coverage.complete for c in folded.checkpoints for b in c.benchmarks)
    summary = Summary(
        run_id=folder.name,
        started=started,
        seconds=3.0,
        complete=complete,
        exit_status=int(not complete),
        gate="regress",
        checkpoints=folded.checkpoints,
        environment={"python": "3.12"},
        notes=folded.notes,
        rerun_options=tuple(f"--checkpoint={c.spec}" for c in folded.checkpoints),
        drawing={"seed": 0, "temperature": 0.0},
    )
    write_files(folder, store, outcomes, folded, summary)


@pytest.fixture(name="make_run")
def _make_run() -> Callable[..., Path]:
    return make_run


def safetensors(numbers: int) -> bytes:
    """A file of one tensor of so many bytes, by the format's description."""
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "w": {"dtype": "U8", "shape": [numbers], "data_offsets": [0, numbers]},
        }
    ).encode()
    return struct.pack("<Q", len(header)) + header + bytes(numbers)


def checkpoint_folder(folder: Path, shards: int = 1) -> Path:
    """Write a checkpoint of a few bytes, as trainers do: a configuration and safetensors files."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    if shards == 1:
        (folder / "model.safetensors").write_bytes(safetensors(64))
        return folder
    names = [f"model-{n:05}-of-{shards:05}.safetensors" for n in range(1, shards + 1)]
    for name in names:
        (folder / name).write_bytes(safetensors(64))
    weights = {f"layer.{n}": name for n, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    return folder


@pytest.fixture(name="checkpoint_folder")
def _checkpoint_folder() -> Callable[..., Path]:
    return checkpoint_folder
