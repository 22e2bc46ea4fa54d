"""Hooks of mkdocs: add the rules' pages to the site, and replace links to files outside `docs/`.

In the repository, a page may link to any file, but the site only contains `docs/`. These hooks
generate a page for each rule, and replace a link to any other file outside `docs/` by its path.
"""

from __future__ import annotations

import re
import runpy
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from autoparser.analysis.lint.registry import all_rules
from autoparser.reports.lint.page import page_file, page_markdown

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#]+)(?:#[^)]*)?\)")
"""A link out of `docs/`: its text, and the path from the repository's root."""

RULES = "analysis/lint/rules/AP"
"""The prefix of the path of each rule's page."""


def on_startup(**_: object) -> None:
    """Link the package below `build/tree`, where mkdocstrings looks when it is configured."""
    with chdir(Path(__file__).parents[1]):
        runpy.run_path("noxfile.py")["make_tree"]()


def on_files(files: Files, *, config: MkDocsConfig) -> None:
    """Add a page for each rule, as `autoparser rule --format markdown` prints it."""
    for rule in all_rules():
        place = f"rules/{page_file(rule)}"
        files.append(File.generated(config, place, content=page_markdown(rule)))


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Lead links to the rules' pages of the site, and name files that the site does not have."""
    source = page.file.src_uri

    def on_site(link: re.Match[str]) -> str:
        words, path = link.groups()
        if path.startswith(RULES):
            return f"[{words}]({'../' * source.count('/')}rules/{path.rpartition('/')[2]})"
        return f"{words} (`{path}` in the repository)"

    return markdown if source.startswith("rules/AP") else LINK.sub(on_site, markdown)
