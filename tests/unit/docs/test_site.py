"""The documents as a site: built without a warning, with the public API in its reference."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import ckptbench.hookspec

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, in a folder of its own."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    package = folder / "packages/ckptbench"
    package.mkdir(parents=True)
    for source in (*(ROOT / "plugin").iterdir(), ROOT / "fixtures", ROOT / "benchmarks"):
        (package / source.name).symlink_to(source)
    config: Any = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder / "site"), strict=True)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [str(package.parent)]
    config.plugins.on_startup(command="build", dirty=False)
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    build(config)
    return folder / "site"


def test_the_first_page_is_the_readme_and_its_links_lead_to_pages(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "demo-mlm/checkpoint-100" in page
    assert 'href="metrics/"' in page
    assert 'href="docs/' not in page


def test_the_reference_holds_every_public_name(site: Path) -> None:
    page = (site / "api/index.html").read_text(encoding="utf-8")
    names = {name for name in ckptbench.__all__ if not name.startswith("__")}
    assert {name for name in names if f'id="ckptbench.{name}"' in page} == names
    hooks = {name for name in vars(ckptbench.hookspec) if name.startswith("pytest_")}
    assert hooks
    assert {name for name in hooks if f'id="ckptbench.hookspec.{name}"' in page} == hooks
