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


PROMPT_SHOWN = 60
"""Characters of a prompt's end that are shown."""


def export_report(export: Export, trial: ExportTrial | None, width: int) -> Text:
    """Show the limits of an export, and the result of its trial, if it was tried."""
    drawn: Blocks = [*_limits(export), *_trial(export, trial)]
    return report_text(drawn, width)


def _limits(export: Export) -> Blocks:
    if export.whole:
        found = prose(Text("The whole format is expressed.", style="green"), indent=0)
    else:
        words = "Parts of the format are not expressed:"
        found = prose(Text(words, style="yellow"), indent=0)
        pairs = [(limit.piece.value, Text(visible(limit.reason))) for limit in export.limits]
        found += rows(pairs)
    if export.needs_tools:
        words = "Arguments are typed by the tools' schemas: without tools, they are strings."
        found += prose(words, indent=0)
    if export.plain_names:
        words = "Argument names are read only if they are plain words."
        found += prose(words, indent=0)
    return found


def _trial(export: Export, trial: ExportTrial | None) -> Blocks:
    if trial is None:
        # transformers is no requirement of this package.
        return prose(Text("Not checked with transformers' own parser.", style="dim"), 0)
    words = f"transformers' own parser returns {trial.passed} of {trial.total} messages"
    kinds = ", ".join(f"{number} with {kind}" for kind, number in trial.kinds.items())
    words += f": {kinds}." if kinds else "."
    found = prose(Text(words, style="green" if trial.ok else "red"), 0)
    if trial.left_out:
        # Without limits, only the names of arguments can keep a message from being expressed.
        skipped = "argument names that are not plain words"
        if not export.whole:
            names = " or argument names" if export.plain_names else ""
            skipped = f"parts{names} that are not expressed"
        found += prose(f"{trial.left_out} more were skipped: they have {skipped}.", 0)
    if trial.foretold:
        words = f"{trial.foretold} of them follow no prompt that the template renders."
        found += prose(words, 0)
    # One limit of the form fails many messages alike, so one of each kind is shown.
    by_kind: dict[str, list[ExportMismatch]] = {}
    for mismatch in trial.mismatches:
        by_kind.setdefault(mismatch.kind, []).append(mismatch)
    for kind, alike in by_kind.items():
        found += heading(f"Wrong result, {kind}: {len(alike)}, e.g. {alike[0].title}")
        found += rows(list(_mismatch(alike[0])), words=False)
    return found


def _mismatch(mismatch: ExportMismatch) -> Iterator[Row]:
    # Only the end of a prompt can hold a part of the turn, such as the opening of reasoning.
    yield "prompt", Text(f"…{marker_text(mismatch.prefix[-PROMPT_SHOWN:])}")
    yield "text", Text(marker_text(mismatch.text))
    yield "expected", Text(visible(str(mismatch.expected)))
    if mismatch.read_message is not None:
        yield "found", Text(visible(str(mismatch.read_message)))
    if mismatch.error:
        yield "but", Text(visible(mismatch.error))


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
