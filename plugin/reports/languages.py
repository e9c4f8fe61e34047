"""The languages of reports: where each one's messages are."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from .._util.language import ENGLISH, Catalogue, of_locale


def catalogue(lang: str | None) -> Catalogue:
    """The messages of `--lang`; without one, of the locale's language."""
    return _korean() if (lang or of_locale()) == "ko" else ENGLISH


@cache
def _korean() -> Catalogue:
    text = resources.files(__package__).joinpath("ko.toml").read_text(encoding="utf-8")
    return Catalogue(**tomllib.loads(text))
