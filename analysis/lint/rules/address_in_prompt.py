from __future__ import annotations

import re
from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

_ADDRESS = re.compile(
    r"\b(?:https?|ftp|wss?)://[^\s<>\"'\\)\]}]+|\bwww\.\w[^\s<>\"'\\)\]}]+"
    r"|\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b(?!\.\d)"
)


@rule("AP907")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for addresses in everything that any branch can write."""
    text = subject.forced_run.text
    found = dict.fromkeys(match[0].rstrip(".,;:") for match in _ADDRESS.finditer(text))
    if found:
        first = next(iter(found))
        at = text.find(first)
        before, stands, _ = subject.template.text.partition(first)
        yield Hit(
            f"prompts can contain an address from the template: {', '.join(found)}",
            (HitEvidence(ShownText("with every branch taken", text[max(0, at - 100) : at + 100])),),
            line=before.count("\n") + 1 if stands else None,
        )
