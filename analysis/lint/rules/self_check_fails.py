from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP604")
def check(subject: Subject) -> Iterator[Hit]:
    """Report the verdict of the analysis."""
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
