"""Parse the cases of `streams` with a checkout's parser, as JSON lines, and compare two results.

It imports only the package and is run by its path, so it tests the checkout in which it runs. The
last line names a file of the package.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from autoparser import Analysis, ChatTemplate, analyze

FIELDS = (
    *("content", "reasoning_content", "status", "finish_reason", "missing_end", "reasoning_end"),
    *("unread", "spans", "attempts"),
)
"""The fields of a message, other than its calls."""


@lru_cache(maxsize=1)
def analysis_of(template: str, tokens: str) -> Analysis:
    """Analyze a template; the cases of one come one after the other."""
    return analyze(ChatTemplate(template, json.loads(tokens)))


def answer(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the deltas of each piece and the message, or the error."""
    try:
        analysis = analysis_of(case["template"], json.dumps(case["tokens"]))
        stream = analysis.parser(case["tools"], call_ids=7, **case["options"]).stream()
        deltas = [stream.feed(piece) for piece in case["pieces"]]
        deltas.append(stream.finish(complete=case["complete"]))
    except Exception as error:  # noqa: BLE001 - errors are compared, too
        return {"error": repr(error)}
    message = stream.message
    # An earlier checkout may lack some of the fields.
    fields = {name: getattr(message, name) for name in FIELDS if hasattr(message, name)}
    fields["calls"] = [
        (call.name, call.arguments, call.id, call.status, call.made_id)
        for call in (*message.tool_calls, message.partial_call)
        if call is not None
    ]
    return {
        "deltas": [
            [[str(delta.kind), delta.text, delta.index, delta.id] for delta in piece]
            for piece in deltas
        ],
        "message": {name: str(value) for name, value in fields.items()},
    }


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return how two answers to one case differ: the kind of difference, and both values."""
    if "error" in old or "error" in new:
        if "unexpected keyword" in old.get("error", ""):
            yield "without such an option", ""
        elif old != new:
            yield "error", f"{old.get('error')} -> {new.get('error')}"
        return
    for name, value in old["message"].items():
        # An earlier checkout has other fields.
        if new["message"].get(name, value) != value:
            yield name, f"{value}\n       -> {new['message'][name]}"
    (before, old_sizes), (after, new_sizes) = (_sum(answer["deltas"]) for answer in (old, new))
    if before != after:
        yield "deltas", f"{before}\n       -> {after}"
    elif any(size < earlier for earlier, size in zip(old_sizes, new_sizes, strict=True)):
        yield "later", f"{old['deltas']}\n       -> {new['deltas']}"
    elif old_sizes != new_sizes:
        yield "earlier", ""


def _sum(pieces: Sequence[Sequence[Sequence[object]]]) -> tuple[str, list[int]]:
    """Return the text of all deltas, joined by kind, and its length after each piece."""
    texts, sizes, last = list[str](), [0], list[object]()
    for piece in pieces:
        size = sizes[-1]
        for kind, text, *call in piece:
            texts.append(str(text) if [kind, *call] == last else f"\n{kind} {call}: {text}")
            last = [kind, *call]
            size += len(texts[-1])
        sizes.append(size)
    return "".join(texts), sizes


def main() -> None:
    """Answer the cases of the standard input."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
    sys.stdout.write(json.dumps({"file": sys.modules[Analysis.__module__].__file__}) + "\n")


if __name__ == "__main__":
    main()
