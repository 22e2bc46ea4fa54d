"""What the template writes follows no format that could be found.

Each template is analysed by what it renders, and the format that is found must write every
message of a fixed battery to the letter. Here some come out otherwise: a parser or a grammar that
reads the format is wrong for such messages, and so, most likely, is every other one.

Before:

    {{- value if value | length < 20 else value | tojson }}

After:

    {{- value | tojson }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Confidence, Hit, HitEvidence, Severity, ShownText
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Read the verdict of the analysis."""
    verdict = subject.analysis.check
    smallest = verdict.smallest
    # Crashes that the format foretells are other rules' findings.
    if smallest is None or smallest.foretold:
        return
    failed = len(verdict.different)
    yield Hit(
        f"of {verdict.total} messages {failed} are not written by one format, the smallest of"
        f" them {smallest.title}: {smallest.reason}",
        (
            HitEvidence(
                ShownText("as the format has it", smallest.written or ""),
                ShownText("as the template writes it", smallest.rendered or ""),
            ),
        ),
    )


RULE = Rule(
    "AP604",
    "self-check-fails",
    __doc__,
    Severity.WARNING,
    check,
    confidence=Confidence.MEDIUM,
)
