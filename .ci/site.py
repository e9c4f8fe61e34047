"""Hooks of mkdocs: the documents at the repository's root become pages of the site.

The documents are written to be read in the repository. README.md is the site's first page, links
between the documents are followed to the pages, and a link to any other file of the repository is
shown as its text, since the site does not hold that file.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
# Documents outside of docs/, and the pages that they become.
PAGES = {
    "README.md": "index.md",
    "README.ko.md": "README.ko.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "RELEASING.md": "RELEASING.md",
}
_LINK = re.compile(r"\[([^]]+)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents of the root."""
    for document, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / document)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point a page's links at pages of the site."""
    sources = {page_name: document for document, page_name in PAGES.items()}
    source = ROOT / sources.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        path = (source.parent / target).resolve()
        if not path.is_relative_to(ROOT):
            return match[0]
        document = path.relative_to(ROOT).as_posix()
        uri = PAGES.get(document, document.removeprefix("docs/"))
        if files.get_file_from_path(uri) is not None:
            return f"[{text}]({uri}{anchor})"
        # A file that is missing stays a link, which mkdocs reports.
        return text if path.exists() else match[0]

    return _LINK.sub(link, markdown)
