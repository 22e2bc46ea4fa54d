"""What is known of one template and of edited texts of it, each found out once.

Several findings of a template are tried with the same edits, and an edited template renders as it
does whatever it was tried for. So one `TemplateTrials` is asked for all findings of a template.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.lint import MendedFault, Rule, Subject, all_rules, lint, run_check
from autoparser.analysis.loading.edits import TemplateEdit, edited
from autoparser.analysis.loading.template import ChatTemplate

from .edit_proof import EditProof, ProvenEdit

__all__ = ["TemplateTrials", "hits_of"]

MOST_SUBJECTS = 24
"""So many edited templates are kept with all that rules rendered of them."""

MOST_COMPILED = 400
"""So many edited templates are kept with their code."""


class TemplateTrials:
    """A template, and what becomes of it by edits."""

    def __init__(self, template: ChatTemplate, mends: Sequence[MendedFault] | None = None) -> None:
        """Analyse a template of whose faults these are to be mended; None takes all.

        Raises AutoparserError where that cannot be done.
        """
        self.template = template
        self.subject = Subject(template)
        _ = self.subject.analysis
        self.proof = EditProof(self.subject, mends)
        self._edited: OrderedDict[str, ChatTemplate] = OrderedDict()
        self._proven: dict[str, ProvenEdit | None] = {}
        self._subjects: OrderedDict[str, Subject | None] = OrderedDict()
        self._news: dict[str, frozenset[Rule]] = {}
        self._before: dict[Rule, int] = {}
        """How often rules hit the template itself."""

    def looked_at(self, rule: Rule) -> Subject:
        """Return the template as a rule alone has looked at it: nothing else is rendered."""
        subject = Subject(self.template, analysis=self.subject.analysis)
        self._before[rule] = len(hits_of(subject, rule) or ())
        return subject

    def edited(self, edits: Sequence[TemplateEdit]) -> ChatTemplate:
        """Return the template with edits made, compiled at most once."""
        return self.written(edited(self.template.text, edits))

    def fixed(self, edits: Sequence[TemplateEdit]) -> ChatTemplate:
        """Return the template with edits made, in the sandbox that it came with."""
        return replace(self.template, text=edited(self.template.text, edits))

    def written(self, text: str) -> ChatTemplate:
        """Return the template with another text, compiled at most once."""
        if text not in self._edited:
            self._edited[text] = replace(self.subject.rendering, text=text)
            if len(self._edited) > MOST_COMPILED:
                self._edited.popitem(last=False)
        self._edited.move_to_end(text)
        return self._edited[text]

    def alike(self, one: ChatTemplate, other: ChatTemplate) -> bool:
        """Say whether every conversation of the proof is rendered to the same text by both."""
        return self.proof.alike(one, other)

    def proven(self, edits: Sequence[TemplateEdit]) -> ProvenEdit | None:
        """Return what the renders prove of edits; None where something is worse by them."""
        template = self.edited(edits)
        if template.text not in self._proven:
            self._proven[template.text] = self.proof.proven(template, edits)
        return self._proven[template.text]

    def gone(self, template: ChatTemplate, rule: Rule) -> bool:
        """Whether a rule finds less in an edited template."""
        subject = self._subject(template)
        hits = None if subject is None else hits_of(subject, rule)
        if rule not in self._before:
            _ = self.looked_at(rule)
        return hits is not None and len(hits) < self._before[rule]

    def news(self, template: ChatTemplate) -> frozenset[Rule]:
        """Return the rules that find in an edited template what was not found before.

        What comes of something that was found before is not new.
        """
        if template.text not in self._news:
            subject = self._subject(template)
            self._news[template.text] = frozenset() if subject is None else self._news_of(subject)
        return self._news[template.text]

    def _news_of(self, subject: Subject) -> frozenset[Rule]:
        firing = (rule for rule in _by_default() if hits_of(subject, rule))
        if all(rule.code in self._known for rule in firing):
            return frozenset()
        return frozenset(
            each.rule for each in lint(subject).findings if each.code not in self._known
        )

    @cached_property
    def _known(self) -> frozenset[str]:
        """The codes of all that is found in the template, whatever covers it."""
        found = lint(self.subject).findings
        return frozenset(code for each in found for code in (each.code, *each.also))

    def _subject(self, template: ChatTemplate) -> Subject | None:
        """Analyse an edited template; None where that cannot be done."""
        text = template.text
        if text not in self._subjects:
            subject = Subject(template)
            try:
                _ = subject.analysis
            except AutoparserError:
                self._subjects[text] = None
            else:
                self._subjects[text] = subject
            if len(self._subjects) > MOST_SUBJECTS:
                self._subjects.popitem(last=False)
        self._subjects.move_to_end(text)
        return self._subjects[text]


def hits_of(subject: Subject, rule: Rule) -> list[str] | None:
    """Return what a rule finds; None where it cannot look."""
    if not subject.has(rule.needs):
        return None
    return [hit.message for hit in run_check(rule, subject)]


def _by_default() -> Sequence[Rule]:
    return [rule for rule in all_rules() if rule.default]
