"""One round: a run is broken in one way at a random moment, resumed, and compared."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comparison import Reference, compare, stored_texts
from hashed_server import serve
from projects import BLOCK, DEMO, Project, Session, use_checkpoint
from run_folder import stored

SAMPLES = {"words": 160, "programs": 40, "served": 40, "checkpoint": 40}


@dataclass(frozen=True)
class Way:
    """A way to break a run.

    Attributes:
        name: what is broken, and how.
        kind: of the project.
        break_: starts the run of a round, and breaks it.
        workers: of pytest-xdist; 0 for none.
        options: of pytest.
    """

    name: str
    kind: str
    break_: Callable[[Round], None]
    workers: int = 0
    options: tuple[str, ...] = ()


@dataclass
class Result:
    """What became of a round.

    Attributes:
        asked_twice: how many texts were asked more than once.
        different: samples whose outcome is another one, in either session.
        looked_normal: sessions whose results are wrong, and do not look so.
        faults: everything that must not be, a sentence each.
    """

    way: str
    seed: int
    asked_twice: int = 0
    different: int = 0
    looked_normal: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    statuses: list[int] = field(default_factory=list)


@dataclass
class Round:
    """What a way's function has at hand.

    Attributes:
        random: decides everything that is random.
        session: the one that is broken.
        stack: is closed before the run is resumed: what stands in its way is removed.
        to_the_end: is closed after the round.
        references: what the broken session may come to.
        resumed_like: what the resumed one must come to.
        kills: how often the run was broken: as many blocks may be asked twice.
        answers_are_lost: whether stored answers may be asked again, as the store was damaged.
        faults: what the way's function found wrong.
    """

    way: Way
    random: random.Random
    project: Project
    lab: Lab
    stack: ExitStack
    to_the_end: ExitStack
    references: tuple[Reference, ...]
    resumed_like: Reference
    session: Session = None  # type: ignore[assignment]
    kills: int = 1
    answers_are_lost: bool = False
    faults: list[str] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.project.run / "store.sqlite"

    def start(self) -> Session:
        """Start the session that is to be broken."""
        self.session = self.project.start(workers=self.way.workers)
        return self.session

    def start_and_wait(self, *, during: bool = False) -> Session:
        """Start it, and wait for a random moment.

        Args:
            during: while it answers, and neither before nor after that.
        """
        before, session = self._asked(), self.start()
        phase = "during" if during else self.random.choice(["start", *["during"] * 5, "end"])
        if phase == "start":
            self.pause(0.0, 1.5)
            return session
        number = left = SAMPLES[self.way.kind] - before
        if phase == "during":
            number = self.random.randint(1, max(1, left * 3 // 4))
        session.until(lambda: self._asked() >= before + number)
        self.pause(0.0, 0.03 if phase == "during" else 0.4)
        return session

    def _asked(self) -> int:
        if self.way.kind == "checkpoint":
            return stored(self.store)
        return len(self.project.asked)

    def pause(self, least_s: float, most_s: float) -> None:
        time.sleep(self.random.uniform(least_s, most_s))

    def serve(self, fault: Callable[[int], str] = lambda number: "", port: int = 0) -> Any:
        """Start the server that the project's run asks, until the run is resumed."""
        server = self.stack.enter_context(serve(self.project.path / "asked.log", fault, port))
        if not port:
            self.project.options.append(f"--checkpoint={server.url}")
        return server

    def use_checkpoint(self, step: int) -> None:
        """Put other weights into the checkpoint; a resumed run must come to theirs."""
        use_checkpoint(self.project.path, step)
        self.resumed_like = self.lab.reference("checkpoint", step)
        self.references = tuple(self.lab.reference("checkpoint", each) for each in STEPS)


STEPS = tuple(sorted(int(folder.name.partition("-")[2]) for folder in DEMO.glob("checkpoint-*")))


@dataclass
class Lab:
    """Where rounds are made.

    Attributes:
        path: of the rounds' folders; those of rounds without a fault are removed.
    """

    path: Path
    _references: dict[tuple[str, int], Reference] = field(default_factory=dict)
    _turns: dict[Any, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))

    def reference(self, kind: str, step: int = STEPS[-1]) -> Reference:
        """The undisturbed run of a kind of project, made when it is first needed."""
        key = kind, step if kind == "checkpoint" else 0
        with self._turns[key]:
            if key not in self._references:
                self._references[key] = self._undisturbed(kind, step)
            return self._references[key]

    def _undisturbed(self, kind: str, step: int) -> Reference:
        project = Project.make(self.path / f"{kind}-{step}", kind)
        with ExitStack() as stack:
            stack.callback(project.end)
            if kind == "checkpoint":
                use_checkpoint(project.path, step)
            if kind == "served":
                server = stack.enter_context(serve(project.path / "asked.log"))
                project.options.append(f"--checkpoint={server.url}")
            session = project.start()
            assert session.wait() == 0, session.log.read_text()
        return Reference.of(project.run)

    def round(self, way: Way, seed: int) -> Result:
        """Break a run, resume it, and compare."""
        reference = self.reference(way.kind)
        result, started = Result(way.name, seed), time.monotonic()
        folder = self.path / f"{way.name.replace(' ', '-')}-{seed}"
        with ExitStack() as to_the_end:
            project = Project.make(folder, way.kind)
            project.options += way.options
            to_the_end.callback(project.end)
            stack = to_the_end.enter_context(ExitStack())
            chance = random.Random(f"{way.name} {seed}")
            one = Round(way, chance, project, self, stack, to_the_end, (reference,), reference)
            try:
                way.break_(one)
                self._look(one, result, one.session.wait(), one.references)
                stack.close()
                self._resume(one, result)
            except Exception as error:  # a round that cannot be made is no round without a fault
                result.faults.append(f"{type(error).__name__}: {error}")
            result.faults += one.faults
        result.seconds = time.monotonic() - started
        if not result.faults:
            shutil.rmtree(folder, ignore_errors=True)
        return result

    def _look(
        self, one: Round, result: Result, status: int, references: Sequence[Reference]
    ) -> bool:
        """Look at what a session left; whether all is there and right."""
        found = compare(one.project.run, references)
        result.statuses.append(status)
        result.different += len(found.different)
        result.looked_normal += found.looks_normal(status)
        result.faults += [*found.different[:3], *found.wrong_scores[:3]]
        if found.looks_normal(status):
            result.faults.append(f"exit {status} looks normal: {found}")
        return status == 0 and found.complete and not found.missing

    def _resume(self, one: Round, result: Result) -> None:
        """Start the same session again, with nothing in its way, and look at what it asks."""
        if one.way.kind == "served" and not one.project.options[-1].startswith("--no"):
            port = int(one.project.options[-1].rpartition(":")[2].partition("/")[0])
            log = one.project.path / "asked.log"
            one.to_the_end.enter_context(serve(log, port=port))
        before, kept = one.project.asked, stored_texts(one.store)
        session = one.project.start(workers=one.way.workers)
        if not self._look(one, result, session.wait(), (one.resumed_like,)):
            result.faults.append(f"not whole after it was resumed: exit {result.statuses[-1]}")
        asked = one.project.asked
        result.asked_twice = sum(number > 1 for number in asked.values())
        if one.answers_are_lost:
            return
        if again := kept & (asked - before).keys():
            result.faults.append(f"stored, and asked again: {', '.join(sorted(again)[:5])}")
        if result.asked_twice > BLOCK * one.kills:
            result.faults.append(f"{result.asked_twice} asked twice, more than a block")
