"""Files that a command wrote: fetched ones, and the demo's.

For example, `fetch --to qwen3` shows

    From Qwen/Qwen3-8B at commit 4f1c2d9a
         4,116  chat_template.jinja
    11,422,654  tokenizer.json
    Written to qwen3
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from autoparser.analysis.sources.template_loading import FetchedFiles

from .places import provenance_words
from .visible import shell_word, visible


def fetch_report(files: FetchedFiles, directory: str | None) -> Text:
    """List the files with their sizes in bytes; `directory` is where they were written."""
    sizes = [f"{size:,}" for size in files.files.values()]
    width = max(map(len, sizes), default=0)
    lines = [
        f"{size:>{width}}  {visible(name)}" for size, name in zip(sizes, files.files, strict=True)
    ]
    where = [] if directory is None else [f"Written to {visible(directory)}"]
    words = provenance_words(files.source) or ""
    return Text("\n".join([words[:1].upper() + words[1:], *lines, *where]))


def demo_report(files: Sequence[str]) -> Text:
    """Name the demo's files, and the commands to try on them, as a shell takes them."""
    folder = shell_word(str(Path(files[0]).parent))
    _, tools, output, messages = map(shell_word, files)
    lines = [
        *(f"Written  {visible(file)}" for file in files),
        "",
        f"autoparser analyze {folder}",
        # A line of more than 80 columns would wrap, and would then be pasted in pieces.
        f"autoparser parse {folder} --tools {tools} \\\n  --input {output}",
        f"autoparser grammar {folder} --tools {tools}",
        f"autoparser render {folder} --messages {messages}",
        f"autoparser roundtrip {folder}",
        f"autoparser lint {folder}",
    ]
    return Text("\n".join(lines))
