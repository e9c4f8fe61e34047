"""Engines that need not be loaded: the store has all that they would be asked.

What such an engine would say of itself is what it said when it was asked under the same conditions,
if the files of the checkpoint still have the fingerprint that it then had.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NoReturn

from .._util.errors import CkptbenchError
from ..api.requests import Request
from ..api.sample import content_hash
from ..config.options import Options
from ..results.earlier import earlier_runs
from ..results.identities import known
from .blocks import Question
from .group import Group
from .requested import Asked, Described, requests_of
from .worker import visible_gpus

if TYPE_CHECKING:
    from .answering import Answering
    from .collection import Collected
    from .run import Run

_OPTIONS = ("device", "dtype", "seq_len", "tokenizer", "model_args", "exact")
_PACKAGES = ("ckptbench", "torch", "transformers", "tokenizers", "peft")


def conditions(options: Options) -> str:
    """A hash of what decides, beside the checkpoint, what its engine says of itself."""
    given = {name: str(getattr(options, name)) for name in _OPTIONS}
    there = {name: _version(name) for name in _PACKAGES}
    return content_hash([given, there, platform.node(), bool(visible_gpus())])


@dataclass(frozen=True)
class RememberedEngine:
    """Says what an engine said, and is never asked; the attributes are those of `Engine`."""

    fingerprint: str
    settings: Mapping[str, Any]
    revision: int
    notes: Sequence[str]
    facts: Mapping[str, Any]
    accelerator: Mapping[str, str]

    def answer(self, requests: Sequence[Request]) -> Iterator[NoReturn]:
        """Refuse: an answer that was stored a moment ago is gone.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("a stored answer was removed while the session ran; run it again")


@dataclass
class StandIns:
    """What stands for engines that are not needed, once for each.

    Attributes:
        answering: of the session, once it has a plan.
    """

    run: Run
    collected: Collected
    answering: Answering | None = None
    _found: dict[object, RememberedEngine | None] = field(default_factory=dict)

    @cached_property
    def _conditions(self) -> str:
        return conditions(self.run.options)

    def identity_of(self, group: Group) -> tuple[str, str]:
        """The spec and the conditions under which a group's engine is remembered, or nothing.

        There are no conditions for a served model: whether it changed, no file tells. So nothing
        stands for its engine.
        """
        options = self.run.options
        if group.checkpoint is None or options.engine == "ray" or not group.has_our_engine:
            return "", ""
        served = options.serve or "://" in group.checkpoint.spec
        return group.checkpoint.spec, "" if served else self._conditions

    def of(self, group: Group) -> RememberedEngine | None:
        """What stands for a group's engine; None where that has something to do."""
        key = group.fixtures.engine_key
        if key not in self._found:
            alike = [each for each in self.collected.groups if each.fixtures.engine_key == key]
            self._found[key] = self._engine_of(group, alike)
        return self._found[key]

    def _engine_of(self, group: Group, alike: Sequence[Group]) -> RememberedEngine | None:
        options, resolver, folder = self.run.options, self.collected.resolver, self.run.folder
        spec, there = self.identity_of(group)
        if not spec or not there or options.no_resume or options.noise_floor or resolver is None:
            return None
        if self.answering is None or any(each.fixtures.takes_model for each in alike):
            return None
        identity = None
        for facts in known((folder, *earlier_runs(folder.parent, folder.name)), spec, there):
            engine = RememberedEngine(**facts)
            if not _is_stored(engine, alike, self.answering):  # before large files are read
                continue
            try:
                identity = identity or resolver.identity(spec)
            except CkptbenchError:  # which loading it tells better
                return None
            if identity == (engine.fingerprint, engine.revision):
                return engine
        return None


def _is_stored(engine: RememberedEngine, groups: Sequence[Group], answering: Answering) -> bool:
    """Whether the store has an answer for all that groups can ask."""
    described = Described(engine.fingerprint, engine.settings, engine.revision)
    for block in answering.plan.blocks:
        items: list[Question] = [answering.items[position] for position in block]  # type: ignore[misc]
        if items[0].group in groups:
            asked = requests_of(items, items[0].group, described)
            keys = [each.key for each in asked if isinstance(each, Asked)]
            if None in answering.store.find(keys):
                return False
    return True


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
