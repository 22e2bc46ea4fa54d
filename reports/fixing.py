"""The fixes in a template, their proof, and the remaining findings with reasons; as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from itertools import groupby
from typing import Literal

from msgspec import convert
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    JsonDocument,
    RuleCode,
    copy_fields,
    document_json,
)
from autoparser.analysis.editing.edit_proof import ChangedRender, FixProof, ProvenEdit
from autoparser.analysis.editing.lint_fixes import FindingFix, FixRun, FixTarget, UnfixedReason
from autoparser.analysis.editing.preserving_edits import LeftStep, PreservingTemplate
from autoparser.analysis.editing.proof_conversations import ProofConversation
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.training_template import MismarkedTurn, TrainingTemplate
from autoparser.analysis.history.trip_causes import Culprit
from autoparser.analysis.lint.project_sources import InputProblem
from autoparser.analysis.templates.chat_template import ChatTemplate

from .blocks import Block, Blocks, compare_texts, difference, heading, prose, rows, sentence
from .lint.text import fix_lines, is_lost
from .lint.words import problem_words
from .terminal import drawn_lines, joined_lines, report_text
from .visible import counted_noun, first_names, visible


def fix_diff(run: FixRun) -> str:
    """Return a unified diff of all changed templates, or an empty text without any."""
    return "".join(
        template_diff(template.fixed.original, template.fixed.template)
        for template in run.templates
    )


def fix_report(
    run: FixRun, width: int, *, files_written: bool, unwritten: Sequence[InputProblem] = ()
) -> Text:
    """Report for each template which findings were fixed, and which were not."""
    drawn: Blocks = []
    for template in run.templates:
        if template.fixed.fixes:
            drawn += _template(template)
    for problem in (*run.problems, *unwritten):
        drawn += prose(visible(f"{problem.path}: {problem_words(problem)}"), indent=0)
    for words in _summary(run, files_written=files_written, unwritten=len(unwritten)):
        drawn += prose(words, indent=0)
    hidden = [
        (template.inspected, fix.finding)
        for template in run.templates
        for fix in template.fixed.fixes
        if fix.hidden and not is_lost(template.fixed.original.source)
    ]
    report = report_text(drawn, width, first_gap=False)
    return joined_lines([report, *fix_lines(hidden, width, unsafe=True)])


def _template(target: FixTarget) -> Iterator[Block]:
    path, name = target.inspected.path, target.inspected.name
    yield from heading(visible(path if name is None else f"{path} ({name})"))
    for fix in target.fixed.fixes:
        sign, style = ("fixed", "green") if fix.reason is None else ("stays", "yellow")
        head = sentence((sign, style), f" {fix.finding.code} ", (fix.finding.rule.name, "bold"))
        if fix.hidden:
            head.append(" (unsafe fix available)", style="dim")
        yield from prose(head)
        yield from rows([*_fix_facts(fix)], indent=4)
        for example in () if fix.proof is None else fix.proof.examples:
            yield from example_lines(example)


def counted_edits(tried: int) -> str:
    """Return the number of edits behind a reason, such as " (26 edits tried)"; empty for none."""
    return f" ({counted_noun(tried, 'edit')} tried)" if tried else ""


def _fix_facts(fix: FindingFix) -> Iterable[tuple[str, Text]]:
    yield "finding", Text(visible(fix.finding.message))
    if fix.why:
        yield "why", Text(fix.why + counted_edits(fix.tried))
    proof = fix.proof
    if proof is None:
        if fix.reason is None:
            # One edit may fix several findings, and belongs to the first.
            yield "edits", Text("none: another fix removed the finding")
        return
    yield "edits", Text(f"{len(fix.edits)} ({fix.tried} tried)")
    yield "verified", Text(f"{proof_words(proof)} No new findings.")
    if proof.beyond:
        words = f"{proof.beyond} of {proof.changed} changed renders have no finding"
        yield "unsafe", Text(words)
    if proof.spoiled:
        words = f"{proof.spoiled} of {proof.changed} used to raise and now render unintended text"
        yield "unsafe", Text(words)


def _summary(run: FixRun, *, files_written: bool, unwritten: int) -> Iterable[str]:
    fixes = run.fixes
    fixed = sum(fix.reason is None for fix in fixes)
    # A file that could not be written is not changed, though its template is fixed.
    many = sum(template.fixed.changed for template in run.templates) - unwritten
    if run.problems:
        yield f"Not finished: {counted_noun(len(run.problems), 'problem')}, see above."
    if not fixes:
        if run.templates or not run.problems:
            yield f"Nothing to fix in {counted_noun(len(run.templates), 'template')}."
        return
    change_words = "changed" if files_written else "would change"
    left = f", {unwritten} not written" if unwritten else ""
    changes = f"{counted_noun(many, 'template')} {change_words}{left}"
    words = f"{fixed} of {counted_noun(len(fixes), 'finding')} fixed: {changes}."
    yield words if files_written or not many else f"{words} --write changes the files."
    hidden = sum(fix.hidden for fix in fixes)
    if hidden:
        yield f"{counted_noun(hidden, 'unsafe fix')} available with --unsafe-fixes."


_NAMED = 6
"""Scenarios named for one cause."""

_END = 160
"""Characters of a render that are shown if there was none before."""


def template_diff(original: ChatTemplate, template: ChatTemplate) -> str:
    """Return a unified diff that `patch` accepts; empty if both have the same text."""
    # `patch` ignores the names of files with an absolute path.
    name = (original.origin or original.name or "template").lstrip("/")
    lines = unified_diff(
        original.text.splitlines(keepends=True),
        template.text.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(
        # Without this remark, `patch` rejects a last line that has no newline.
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in lines
    )


def preserving_report(template: PreservingTemplate, width: int) -> Text:
    """Report the round trips that edits fix, their proof, and the remaining ones with reasons."""
    drawn: Blocks = []
    if template.edits:
        more = f"{len(template.fixed)} more pass: {_steps(template.fixed)}"
        drawn += prose(f"{counted_noun(len(template.edits), 'edit')}: {more}.", indent=0)
        words = f"Unchanged: {template.held_steps} scenario steps that passed before,"
        drawn += prose(f"{words} under every relevant setting.", indent=0)
        if template.proof is not None:
            drawn += prose(proof_words(template.proof), indent=0)
            for example in template.proof.examples:
                drawn += example_lines(example)
    elif template.left:
        words = f"No edit found ({template.trial_count} tried)."
        drawn += prose(words, indent=0)
    else:
        drawn += prose("All scenarios pass; no edit needed.", indent=0)
    for fault, words in _LEFT.items():
        # An edit of the template can fix only the breaks that are its fault.
        left = [step for step in template.left if step.fault is fault]
        if left:
            drawn += heading(f"{words}: {len(left)}")
            drawn += rows([*_reasons(left)])
    return Text("\n").join(drawn_lines(drawn, width))


_LEFT = {
    Culprit.TEMPLATE: "No edit fixes this without other changes",
    Culprit.ENGINE: "The engine changes the message",
    Culprit.MODEL: "Not representable in a message (no template can fix this)",
}


def _reasons(left: Iterable[LeftStep]) -> Iterable[tuple[str, Text]]:
    causes: dict[str, list[tuple[Scenario, Next]]] = {}
    for step in left:
        causes.setdefault(step.cause.value, []).append((step.scenario, step.next))
    for cause, steps in causes.items():
        yield cause, sentence(_steps(steps))


def _steps(steps: Iterable[tuple[Scenario, Next]]) -> str:
    """Name some steps, and count the rest."""
    # A scenario has a step for each role of the next message.
    names = [*dict.fromkeys(visible(scenario.name) for scenario, _ in steps)]
    return first_names(names, _NAMED, " · ")


def proof_words(proof: ProvenEdit) -> str:
    """Describe a proof's renders: their number, their kinds, and the ones that raise."""
    kinds = ", ".join(f"{number} with {kind}" for kind, number in proof.kinds.items())
    rendered = proof.conversations - proof.changed - proof.raising
    parts = [f"{rendered} unchanged"]
    # Every changed render raised before, so nothing that rendered has changed.
    if proof.crashed == proof.changed > 0:
        parts.append(f"{counted_noun(proof.changed, 'crash')} fixed")
    elif proof.changed:
        parts.append(f"{proof.changed} improved")
    if proof.raising:
        parts.append(f"{proof.raising} still raise")
    total = counted_noun(proof.conversations, "conversation")
    return f"{total}: {', '.join(parts)}, 0 new errors. Covered: {kinds}."


def _end(text: str) -> str:
    return text if len(text) <= _END else f"… {text[-_END:]}"


def example_lines(change: ChangedRender) -> Blocks:
    """Show one of several renders that change alike."""
    words = sentence(
        ("for example", "dim"), f" {visible(change.conversation)}: {'; '.join(change.mended)}"
    )
    drawn = prose(words, indent=4)
    if change.before is None:
        return drawn + prose(f"raised before; now {visible(_end(change.after))}", indent=6)
    return drawn + difference(compare_texts(change.before, change.after), 6)


_MOST = 60
"""Longest stretch shown, in characters."""


def training_lines(
    training: TrainingTemplate, same: ProvenEdit | ProofConversation | None
) -> Iterator[str]:
    """Describe the proof, then each kind of turn with marks that differ from the loss mask.

    `same` is the proof of the edits, or the conversation that renders differently, or None if
    nothing was written around the template.
    """
    proof = training.proof
    what = "with added markers" if training.patched else "with its own markers"
    yield (
        f"{what}: {counted_noun(proof.conversations, 'conversation')} unchanged"
        f" ({proof.refused} raise in both); markers equal autoparser's loss mask in"
        f" {proof.masked} of {proof.conversations - proof.refused}"
    )
    if isinstance(same, ProvenEdit):
        yield proof_words(same)
    elif same is not None:
        yield f"a conversation renders differently: {visible(same.name)}"
    # Sorted, because `groupby` joins only neighbors.
    for _, alike in groupby(sorted(proof.deviations, key=_deviation_kind), _deviation_kind):
        yield _deviation(list(alike))


def _deviation_kind(deviation: MismarkedTurn) -> tuple[str, bool, bool]:
    return deviation.turn, bool(deviation.left_out), bool(deviation.marked_too)


def _deviation(alike: Sequence[MismarkedTurn]) -> str:
    one = alike[0]
    others = len(alike) - 1
    more = f", and {others} more" if others else ""
    found = [
        f"{label} {', '.join(map(_stretch, stretches))}"
        for label, stretches in (("not marked:", one.left_out), ("marked:", one.marked_too))
        if stretches
    ]
    place = f"message {one.message + 1} of {', '.join(one.conversation)}{more}"
    mark_words = "; ".join(found)
    return f"{_subject(one)} ({place}) is marked differently from the loss mask: {mark_words}"


def _subject(deviation: MismarkedTurn) -> str:
    if deviation.turn:
        return f"a turn of {deviation.turn}"
    return f"text after a {deviation.conversation[deviation.message]} message"


def _stretch(text: str) -> str:
    return f"«{visible(text if len(text) <= _MOST else f'{text[:_MOST]}…')}»"


class FindingFixDocument(JsonDocument, frozen=True):
    """A finding and its fix."""

    code: RuleCode
    """The rule, e.g. `"AP306"`."""
    name: str
    """The rule's name, e.g. `"content-dropped-beside-calls"`."""
    message: str
    """The finding's message, e.g. `"content beside a call is not in the prompt"`."""
    fixed: bool
    """Whether the fix removes it, e.g. `false` for a rule without edits."""
    reason: UnfixedReason | None
    """Why the finding is not fixed, e.g. `"no edits are known for this rule"`; null if it is."""
    why: str
    """The reason in a sentence, e.g. `"AP101 has no automatic fix: no render shows the correct
    text"`; empty if it is fixed."""
    safe: bool | None
    """Whether the edits change only renders that shown findings cover, e.g. `false` if `beyond` is
    not 0; null if there are no edits."""
    edits: Count
    """Number of edits made together, e.g. `1`."""
    tried: Count
    """Number of edits tried, e.g. `92`."""
    proof: FixProof | None
    """The renders with and without the edits, e.g. of 508 conversations; null without edits."""


class FixedTemplateDocument(JsonDocument, frozen=True):
    """A checked template."""

    path: str
    """The file or source, e.g. `"chat_template.jinja"`."""
    name: str | None
    """The template's name if its source has several, e.g. `"tool_use"`."""
    changed: bool
    """Whether a finding was fixed, so that `text` is not the original."""
    diff: str
    """A unified diff, e.g. with a hunk at `@@ -27,7 +27,7 @@`; empty if nothing was fixed."""
    text: str
    """The whole template with its fixes, e.g. `"{%- for message in messages %}…"`."""
    findings: tuple[FindingFixDocument, ...]
    """The findings and their fixes, e.g. of the rule `"AP306"`."""


class FixProblemDocument(JsonDocument, frozen=True):
    """An input that could not be checked, only in part, or not be written."""

    path: str
    """The input, e.g. `"no-such.jinja"`."""
    message: str
    """The problem, e.g. `"no such file or directory"`."""
    hint: str
    """The way out, e.g. `"pass a template file, a model directory, …"`; empty if none is known."""


class FixDocument(JsonDocument, frozen=True):
    """The findings and fixes of `autoparser fix`."""

    schema: Literal["autoparser.fix/1"]
    """The schema's name and version, `"autoparser.fix/1"`."""
    written: bool
    """Whether the files were changed, as with `--write`."""
    templates: tuple[FixedTemplateDocument, ...]
    """The checked templates, e.g. `"chat_template.jinja"`."""
    problems: tuple[FixProblemDocument, ...]
    """Inputs that were not checked as a whole, or not written, e.g. `"no-such.jinja"`."""


def fix_document(
    run: FixRun, *, files_written: bool, unwritten: Sequence[InputProblem] = ()
) -> dict[str, Json]:
    """Return a run as JSON values."""
    problems = convert(
        (*run.problems, *unwritten), tuple[FixProblemDocument, ...], from_attributes=True
    )
    templates = tuple(map(_template_document, run.templates))
    return document_json(FixDocument("autoparser.fix/1", files_written, templates, problems))


def _template_document(target: FixTarget) -> FixedTemplateDocument:
    fixed = target.fixed
    return copy_fields(
        FixedTemplateDocument,
        target.inspected,
        changed=fixed.changed,
        diff=template_diff(fixed.original, fixed.template),
        text=fixed.template.text,
        findings=tuple(map(_finding_document, fixed.fixes)),
    )


def _finding_document(fix: FindingFix) -> FindingFixDocument:
    proof = fix.proof
    return copy_fields(
        FindingFixDocument,
        fix,
        code=fix.finding.code,
        name=fix.finding.rule.name,
        message=fix.finding.message,
        fixed=fix.reason is None,
        safe=None if proof is None else proof.safe,
        edits=len(fix.edits),
        proof=None if proof is None else copy_fields(FixProof, proof),
    )
