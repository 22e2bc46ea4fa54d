"""A hook of mkdocs: pages that are read in the repository link to files beside `docs/`, too."""

from __future__ import annotations

import re

OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)#]+)(?:#[^)]*)?\)")
"""A link that leaves `docs/`: the words, and the file from the repository's root."""


def on_page_markdown(markdown: str, *, page: object, **_: object) -> str:
    """Name the file where the site has no page for it."""
    if "rules/" in str(getattr(page, "file", "")):
        return markdown
    return OUTSIDE.sub(r"\1 (`\2` in the repository)", markdown)
