"""Answers blocks in the background while earlier items report.

Two threads: the asker makes requests, looks for stored answers and drives the engine; the writer
stores answers, many in one commit while the disk is busy with the one before. Only then may their
items report.
"""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

import pytest

from .._util.errors import CkptbenchError
from ..api.protocol import Engine
from ..api.requests import Failed, Response
from ..results import log as runlog
from ..results.answers import Key, escaped
from ..results.environment import describe_accelerator
from ..results.store import RunStore
from .bill import Bill
from .blocks import Plan, Question, is_last
from .compound import answer as answer_requests
from .compound import encoded
from .executions import submit
from .group import Group
from .requested import Asked, Described, requests_of

_STOP = object()
ANSWERING: pytest.StashKey[Answering] = pytest.StashKey()


class OutOfTime(Exception):
    """The time limit of a group is over."""


@dataclass(eq=False)
class Block:
    """Items that are answered together.

    Attributes:
        answered: how many of them have their response.
        started: when answering began, of `time.monotonic`; None while it waits for its turn.
        dropped: whether its engine is torn down, so that no further request is made.
    """

    items: Sequence[Question]
    group: Group
    engine: Engine | None = None
    answered: int = 0
    started: float | None = None
    dropped: bool = False


@dataclass(slots=True)
class _Answer:
    """A response on its way to its item.

    Attributes:
        key: None for a failure, which is not stored.
        new: what to store under the key; empty for an answer that is stored already.
    """

    position: int
    response: Response
    key: Key | None = None
    new: str = ""


@dataclass
class Answering:
    """Gives every item its response.

    Args:
        items: the session's items; those in `plan` are sample items.
        store: where answers are kept.
        reuse: whether stored answers are used.
        progress: called about twice a second while an item waits.
        step: how many blocks ahead this process runs next; 0 answers none ahead.
        executions: the programs that are being judged, by the position of their item.
        decided: why an item is not needed, or an empty text; None where all are asked.
        bill: what the answers cost.
        identity_of: the spec and the conditions under which a group's engine is remembered.
    """

    items: Sequence[object]
    plan: Plan
    store: RunStore
    reuse: bool
    progress: Callable[[], None]
    step: Callable[[int], int]
    executions: dict[int, Future[Any]] = field(default_factory=dict)
    decided: Callable[[Question], str] | None = None
    bill: Bill = field(default_factory=Bill)
    identity_of: Callable[[Group], tuple[str, str]] = lambda group: ("", "")
    _blocks: dict[int, Block] = field(default_factory=dict)
    _ready: dict[int, Response] = field(default_factory=dict)
    _answers_ready: threading.Condition = field(default_factory=threading.Condition)
    _to_ask: queue.SimpleQueue[object] = field(default_factory=queue.SimpleQueue)
    _to_write: queue.SimpleQueue[object] = field(default_factory=queue.SimpleQueue)
    _threads: list[threading.Thread] = field(default_factory=list)
    _asking: Engine | None = None
    _between_blocks: threading.Condition = field(default_factory=threading.Condition)
    _stopping: bool = False
    _described: dict[int, tuple[Engine, Described]] = field(default_factory=dict)
    _handed_out: bytearray = field(default_factory=bytearray)
    _first_request: dict[int, float] = field(default_factory=dict)
    _current: int = -1
    _store_error: str = ""

    def __post_init__(self) -> None:
        self._handed_out = bytearray(len(self.items))

    def response(self, item: Question) -> Response:
        """Wait for the response of an item. Called from pytest's thread.

        The block after the item's is queued too, if the same engine answers it.
        """
        position = item.position
        number = self.plan.block_of[position]
        if number != self._current:
            if number not in self._blocks:
                self._begin(number, item.group, item.group.fixtures.engine)
            self._current = number
            self._begin_next(number)
        if self._handed_out[position]:  # a rerun: a stored answer, or a failure tried again
            self._to_ask.put(Block([item], item.group, item.group.fixtures.engine))
        self._handed_out[position] = 1
        response = self._ready.pop(position, None)
        return self._wait(position) if response is None else response

    def _wait(self, position: int) -> Response:
        with self._answers_ready:
            while position not in self._ready:
                if self._store_error:
                    return Failed(f"the answer could not be stored: {self._store_error}")
                self._answers_ready.wait(timeout=0.5)
                self.progress()
            return self._ready.pop(position)

    def answered(self) -> int:
        """How many items have their response."""
        return sum(block.answered for block in list(self._blocks.values()))

    def unload(self, engine: Engine, wait_s: float = 30.0) -> None:
        """Forget an engine that is torn down, so that its model can leave memory.

        It stops after the current answer. What it has not answered is requested again, if its
        items run at all.
        """
        own = [(number, block) for number, block in self._blocks.items() if block.engine is engine]
        for _, block in own:
            block.dropped = True
        with self._between_blocks:
            self._between_blocks.wait_for(lambda: self._asking is not engine, wait_s)
        self._described.pop(id(engine), None)
        for number, block in own:
            block.engine = None
            if block.answered < len(block.items):
                del self._blocks[number]

    def close(self, wait_s: float = 30.0, give_up: Callable[[], None] = lambda: None) -> None:
        """Stop after the current answers, those that `give_up` does not end, and store them."""
        self._stopping = True
        self._to_ask.put(_STOP)
        give_up()
        deadline = time.monotonic() + wait_s
        for thread in self._threads:
            thread.join(timeout=max(0.0, deadline - time.monotonic()))

    # pytest's thread

    def between_blocks(self, work: Callable[[], list[Response]]) -> list[Response]:
        """Call `work` in the asker's thread, between two blocks."""
        self._start()
        done: Future[list[Response]] = Future()

        def do() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # a dead thread would be waited for without end
                done.set_exception(error)

        self._to_ask.put(do)
        return done.result()

    def _begin(self, number: int, group: Group, engine: Engine) -> None:
        members: list[Question] = [self.items[p] for p in self.plan.blocks[number]]  # type: ignore[misc]
        self._start()  # if it cannot, nobody waits for the block
        block = self._blocks[number] = Block(members, group, engine)
        self._to_ask.put(block)

    def _begin_next(self, number: int) -> None:
        """Queue the next block if that needs no other model than the current one."""
        following = number + self.step(number)
        if following >= len(self.plan.blocks) or following in self._blocks:
            return
        first: Question = self.items[self.plan.blocks[following][0]]  # type: ignore[assignment]
        group, current = first.group, self._blocks[number].group
        later = first.stage != self._blocks[number].items[0].stage
        if later or (group.fixtures.values is None and group.executes):
            return  # perhaps it is not needed; a sandbox is set up with its first item
        if group.fixtures.values is None:
            own, same = current, group.fixtures.engine_key == current.fixtures.engine_key
        else:
            own, same = group, group.checkpoint == current.checkpoint
        # A block that is taken is another worker's.
        if same and self.store.taken().isdisjoint(self.plan.blocks[following]):
            self._begin(following, group, own.fixtures.engine)

    def _start(self) -> None:
        for target in (self._ask_blocks, self._write_answers)[len(self._threads) :]:
            thread = threading.Thread(target=target, name=f"ckptbench{target.__name__}")
            thread.daemon = True
            thread.start()
            self._threads.append(thread)

    # The asker's thread

    def _ask_blocks(self) -> None:
        while (block := self._to_ask.get()) is not _STOP:
            if not isinstance(block, Block):
                block()  # type: ignore[operator]
                del block
                continue
            engine = block.engine
            self._now_asking(engine)
            if engine is not None and not block.dropped:
                self._ask(block, engine)
            del block, engine  # waiting for the next one must not keep a model in memory
            self._now_asking(None)
        self._to_write.put(_STOP)

    def _now_asking(self, engine: Engine | None) -> None:
        with self._between_blocks:
            self._asking = engine
            self._between_blocks.notify_all()

    def _ask(self, block: Block, engine: Engine) -> None:
        block.started = time.monotonic()
        answered: set[int] = set()
        reason = "the engine gave no answer for this sample"
        detail = ""
        try:
            for answer in self._answer(block, engine):
                answered.add(answer.position)
                self._to_write.put(answer)
                if self._stopping or block.dropped:
                    break
        except OutOfTime as error:
            reason = str(error)
        except BaseException as error:  # a dead thread would be waited for without end
            reason = f"the engine failed: {type(error).__name__}: {error}"
            detail = traceback.format_exc()
            if not self._stopping:
                runlog.LOG.error("%s: %s\n%s", block.group.title, reason, detail)
        if not (self._stopping or block.dropped):
            for item in block.items:
                if item.position not in answered:
                    self._to_write.put(_Answer(item.position, Failed(reason, detail)))
                    detail = ""

    def _answer(self, block: Block, engine: Engine) -> Iterator[_Answer]:
        group = block.group
        pending: list[Asked] = []
        for each in requests_of(block.items, group, self._describe(engine, group)):
            if isinstance(each, Asked):
                pending.append(each)
            else:
                item, failed = each
                yield _Answer(item.position, failed)
        reused = 0
        if self.reuse:
            left = []
            known = self.store.find([asked.key for asked in pending])
            for asked, found in zip(pending, known, strict=True):
                if found is None:
                    left.append(asked)
                else:
                    reused += 1
                    item = asked.item
                    yield _Answer(item.position, self._read_programs(item, found), asked.key)
            pending = left
        started = time.monotonic()
        expected = set(range(len(pending)))
        try:
            if pending:
                self.check_time(group)
                requests = [asked.request for asked in pending]
                at_once = group.asked.batch_size * getattr(engine, "replicas", 1)
                if not at_once and is_last(self.plan, block.items[0], self.items):
                    getattr(engine, "last_block", lambda: None)()
                answers = answer_requests(engine, requests, at_once)
                for index, response in self.bill.metered(engine, group.index, answers):
                    if index not in expected:
                        again = "twice" if 0 <= index < len(pending) else f"of {len(pending):,}"
                        raise ValueError(f"it answered request {index} {again}")
                    expected.remove(index)
                    yield self._encoded(pending[index].item, pending[index].key, response)
                    if expected:
                        self.check_time(group)
        finally:
            seconds = time.monotonic() - started
            done = len(pending) - len(expected)
            counts = (group.title, f"{done:,}", f"{len(pending):,}", seconds, f"{reused:,}")
            runlog.LOG.info("%s: %s of %s answered in %.1f s, %s from the store", *counts)

    def check_time(self, group: Group) -> None:
        """Make no further request for a group whose time limit is over; answers stay.

        Raises:
            OutOfTime: requests were made for longer than the configuration allows.
        """
        now = time.monotonic()
        first = self._first_request.setdefault(group.index, now)
        timeout_s = group.asked.timeout_s
        if timeout_s is not None and now - first > timeout_s:
            source = group.asked.sources.get("timeout_s", "")
            raise OutOfTime(f"not asked: its timeout of {timeout_s:g} s is over ({source})")

    def _encoded(self, item: Question, key: Key, response: Response) -> _Answer:
        new = encoded(response)
        if isinstance(new, Failed):
            return _Answer(item.position, new)
        return _Answer(item.position, self._read_programs(item, response), key, new)

    def _describe(self, engine: Engine, group: Group) -> Described:
        # An engine without a fingerprint is one of a kind: its answers are never reused.
        if id(engine) not in self._described:
            described = Described(
                escaped(getattr(engine, "fingerprint", "") or f"session:{uuid4().hex}"),
                dict(getattr(engine, "settings", {})),
                getattr(engine, "revision", 1),
            )
            self._described[id(engine)] = engine, described
            facts = {
                **asdict(described),
                "notes": list(getattr(engine, "notes", ())),
                "facts": dict(getattr(engine, "facts", {})),
                "accelerator": getattr(engine, "accelerator", None) or describe_accelerator(),
            }
            if known_by := getattr(engine, "known_by", None):
                facts["known_by"] = dict(known_by)
            self.store.write_engine(group.checkpoint_name, facts, *self.identity_of(group))
        return self._described[id(engine)][1]

    def _read_programs(self, item: Question, response: Response) -> Response:
        """Programs are read and submitted to the sandbox; the main thread reads the others."""
        if not item.group.executes:
            return response
        read = item.group.read(item.sample, response)
        if (submitted := submit(item, read)) is not None:
            self.executions[item.position] = submitted
        return read

    # The writer's thread

    def _write_answers(self) -> None:
        items: Sequence[Question] = self.items  # type: ignore[assignment]
        stopped = False
        while not stopped:
            batch = [self._to_write.get()]
            while not self._to_write.empty():  # no other thread takes from the queue
                batch.append(self._to_write.get())
            stopped = batch[-1] is _STOP
            answers = [answer for answer in batch if isinstance(answer, _Answer)]
            kept = [
                (a.position, items[a.position].group.index, a.key, a.new) for a in answers if a.key
            ]
            try:
                spent = self.bill.take()
                if kept or spent:
                    self.store.serve(kept, spent)
            except Exception as error:  # a dead thread would be waited for without end
                self._store_error = error.what if isinstance(error, CkptbenchError) else repr(error)
                with self._answers_ready:
                    self._answers_ready.notify_all()
                return
            with self._answers_ready:
                for answer in answers:
                    self._ready[answer.position] = answer.response
                    if block := self._blocks.get(self.plan.block_of[answer.position]):
                        block.answered += 1
                self._answers_ready.notify_all()
