"""Two formats side by side, where one of them or both have no template to render."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.describing.verdict_document import check_counts
from autoparser.analysis.learnt import LearntFormat

from .facts import FactChange, changed_facts


@dataclass(frozen=True, slots=True)
class FormatComparison:
    """All that differs in what was learnt; nothing was rendered."""

    left: LearntFormat
    right: LearntFormat
    facts: tuple[FactChange, ...]

    @property
    def same_text(self) -> bool:
        """Whether both were learnt from the same text."""
        return self.left.sha256 == self.right.sha256

    @property
    def equal(self) -> bool:
        """Whether nothing that was learnt differs."""
        return not self.facts and check_counts(self.left.check) == check_counts(self.right.check)


def compare_formats(left: LearntFormat, right: LearntFormat) -> FormatComparison:
    """Compare what was learnt of two templates, or of one at two times."""
    return FormatComparison(left, right, changed_facts(left, right))
