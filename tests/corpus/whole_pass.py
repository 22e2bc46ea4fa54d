"""What is asked of every template of the corpus, in one pass: each is read and analysed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .closed_loop import Loop, loop_of
from .each_template import of_each
from .exports import Exported, export_of
from .outcomes import PROCESSES, Outcome, outcome_of


@dataclass(frozen=True, slots=True)
class TemplateAnswers:
    """What one template had to say; None where its analysis does not hold."""

    outcome: Outcome
    loop: Loop | None
    exported: Exported | None


def answers_of(path: Path) -> TemplateAnswers:
    """Ask one template everything."""
    return TemplateAnswers(outcome_of(path), loop_of(path), export_of(path))


def whole_pass(paths: Sequence[Path], processes: int = PROCESSES) -> list[TemplateAnswers]:
    """Ask every template, in processes where the system can fork."""
    return of_each(answers_of, paths, processes, chunk=16)
