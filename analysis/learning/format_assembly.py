r"""Run the phases in their order, and assemble formats from their results.

    reasoning_phases.py   R1, R3, C1             PartsStage       layouts of turns
    call_phases.py        T1, T2, T3, T4, T7     CallsStage       header, ends, calls
    prompt_phase.py       R2                     NamedReasoning   reasoning in generation prompts
    argument_phases.py    T5, A1, A2, A3, T6     ArgumentsStage   notation of arguments

`learn_formats` groups the settings under which turns are written alike, runs the phases once per
group (`run_phases`), first under the setting that shows most, and assembles a `TurnFormat` from the
stages of each (`assemble_format`). `format_under` finds the format of a setting not learned before.

In `fixtures/templates/a1-function-parameter.jinja` the switch `enable_thinking` changes only the
generation prompt, so all settings are one group, and its format is

    header           '<|im_start|>assistant\n'
    layouts          of content: '<|im_start|>assistant\n<think>\n\n</think>\n\n', '<|im_end|>\n'; …
    calls.row        '<tool_call>\n<function=' NAME '>\n' ARGUMENTS '\n</function>\n</tool_call>'
    calls.arguments  '<parameter=' KEY '>\n' VALUE '\n</parameter>', separated by '\n'
    stop_strings     '<|im_end|>'
    openings         '<|im_start|>assistant\n<think>\n', which opens reasoning; if thinking is off,
                     '<|im_start|>assistant\n<think>\n\n</think>\n\n', an empty reasoning block
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs
from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentForm, ArgumentFormat, CallFormat
from autoparser.analysis.core.call_notation import RowSlot, json_notation
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import (
    Formats,
    PromptFormat,
    share_settings,
    written_alike,
)
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import diff_split
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.core.verdicts import EvidenceKind

from .argument_containers import container_notation, writes_alike
from .argument_phases import ArgumentsStage, examine_arguments
from .call_phases import CallsStage, examine_calls
from .call_rows import assemble_call, row_without_arguments
from .found_switches import settings_to_learn, turns_under
from .free_words import place_stretches
from .generation_prompts import NamedReasoning, PromptText, describe_openings, prompts_under
from .naming_ids import SeenId
from .observer import Observer
from .prober import Finding, Prober, Sentinels
from .prompt_phase import examine_r2
from .reasoning_phases import CALLS, PartsStage, PhaseInput, examine_parts


class PhaseResults(NamedTuple):
    """The results of all phases under one setting, by stage."""

    parts: PartsStage
    """Reasoning and content (R1, R3, C1), e.g. reasoning between `<think>` and `</think>`."""
    calls: CallsStage
    """Calls and the turn around them (T1, T2, T3, T4, T7), e.g. `<calls>` around all calls."""
    named: NamedReasoning | None
    """Markers of reasoning that only prompts or words show (R2), e.g. `<think>`, or None if turns
    show them."""
    arguments: ArgumentsStage | None
    """The arguments of a call (T5, A1, A2, A3, T6), e.g. separated by `", "`, or None if no call
    shows any."""
    findings: tuple[Finding, ...]
    """One for each phase, sorted: reasoning, content, calls, arguments, e.g. `R1`, `R2`, `R3`,
    `C1`, `T1`."""


_FINDING_ORDER = "RCTA"
"""The order of the findings, by the first letter of their phase."""


def run_phases(observer: Observer, start: PhaseInput) -> PhaseResults:
    """Run every phase; each stage receives the stages that it needs."""
    parts, of_parts = examine_parts(observer, start)
    calls, of_calls = examine_calls(observer, start, parts)
    named, r2 = examine_r2(observer, start, parts, calls.edges.header)
    arguments, of_arguments = examine_arguments(observer, calls_shown=calls.edges.frame is not None)
    findings = sorted(
        (*of_parts, *of_calls, r2, *of_arguments),
        key=lambda finding: (_FINDING_ORDER.index(finding.phase[0]), finding.phase),
    )
    return PhaseResults(parts, calls, named, arguments, tuple(findings))


def assemble_format(
    observer: Observer, start: PhaseInput, results: PhaseResults, settings: Sequence[Setting]
) -> TurnFormat:
    """Assemble the format of turns under these settings."""
    shape = observer.prober.shape
    form = ArgumentForm.STRING if shape.arguments_as_string else ArgumentForm.OBJECT
    # A part known only from the prompt's words is in the format, but no render confirms it.
    named, edges = results.named or NamedReasoning(), results.calls.edges
    calls, worded = _assemble_calls(observer, results), results.calls.worded
    worded_parts = set[TurnPart]() if named.confirmed else {TurnPart.REASONING}
    if calls is None and worded is not None:
        calls = worded
        worded_parts.add(TurnPart.CALLS)
    elsewhere = (
        set[TurnPart]()
        if start.fullest is None
        else {TurnPart.REASONING} & start.fullest.shown_parts
    )
    stops = (*(seen.stop for seen in edges.ends if seen.stop), *edges.leads.stops)
    cut = results.parts.cut
    format_ = TurnFormat(
        header=edges.header,
        layouts=edges.section.layouts,
        calls=calls,
        ends=tuple(seen.end for seen in edges.ends),
        stop_strings=tuple(dict.fromkeys(stops)),
        argument_form=form,
        setting=dict(observer.prober.setting),
        reasoning_cut=None if cut is None else cut.text,
        reasoning_open=named.open,
        reasoning_close=named.close,
        not_rendered=dict.fromkeys(sorted(worded_parts), EvidenceKind.WORDS),
        elsewhere=frozenset() if start.shows_reasoning else frozenset(elsewhere),
        retention=results.parts.retention,
    )
    # Compared by `repr`, since `True == 1` in Python.
    known = {repr(setting) for setting in settings}
    own = [prompt for prompt in start.prompts if repr(prompt.setting) in known]
    openings = describe_openings(own, edges.header, format_.reasoning)
    return _with_whole_header(structs.replace(format_, openings=openings))


def _assemble_calls(observer: Observer, results: PhaseResults) -> CallFormat | None:
    """Assemble the calls: their frame, the slots in it, the arguments."""
    stage, edges, seen = results.calls, results.calls.edges, results.arguments
    if edges.frame is None or seen is None:
        return None
    arguments = _assemble_arguments(observer.prober.sentinels, seen)
    if arguments is None:
        return None
    slots = [slot for slot in (stage.name, stage.call_id) if slot is not None]
    call, section = observer.call(), edges.section
    calls = assemble_call(
        edges.frame,
        slots,
        arguments,
        arguments.write(call.arguments),
        (section.open, section.close),
    )
    if calls is None:
        return None
    calls = _with_naming_id(place_stretches(calls, call, stage.free), stage.seen_id)
    # If a marker opens calls, other openings do not count.
    if not calls.is_marked:
        calls = structs.replace(calls, leads=edges.leads.markers)
    bare, layout = seen.enclosure.without, section.layouts[CALLS]
    # Only if the turn is nothing but the call is all other text known, and the rest is the call.
    if bare is None or layout.parts != (TurnPart.CALLS,):
        return calls
    head, tail = layout.literals[0] + calls.section_open, calls.section_close + layout.literals[1]
    if not bare.startswith(head) or not bare.endswith(tail):
        return calls
    text = bare[len(head) : len(bare) - len(tail)]
    return structs.replace(calls, empty_row=row_without_arguments(text, calls, slots))


def _with_naming_id(calls: CallFormat, seen: SeenId | None) -> CallFormat:
    """Add how ids carry names, if nothing else of a call does."""
    if seen is None or calls.naming is None:
        return calls
    # A number that the call has outside its id, too, was learned with the frame.
    numbered = RowSlot.INDEX in seen.row and not calls.has(RowSlot.INDEX)
    base = seen.base if numbered else calls.index_base
    return structs.replace(calls, id_row=seen.row, index_base=base)


def _assemble_arguments(marks: Sentinels, seen: ArgumentsStage) -> ArgumentFormat | None:
    """Assemble the arguments' notation: T5's list, A1's to A3's entries, T6's brackets."""
    listed = seen.listed
    refused = frozenset(seen.types.refused)
    members = container_notation(listed.entries, seen.strings, seen.types, seen.key_text)
    # Arguments are one value if a known notation writes their brackets and all entries alike.
    value = seen.enclosure.notation
    if value is None or not writes_alike(members, value, listed.entries, marks):
        value = json_notation() if listed.verbatim else None
    if value is not None:
        return ArgumentFormat(
            value.object,
            value,
            listed.entries.margin if value.object.indent else "",
            refused,
            encoded=listed.quoted is not None,
            verbatim=listed.verbatim,
        )
    # Encoded arguments in an unknown notation cannot be read back.
    if listed.quoted is not None:
        return None
    # The text that encloses the entries is a part of the call.
    values = members.values or json_notation()
    return ArgumentFormat(structs.replace(members, values=None), values, refused=refused)


def _with_whole_header(format_: TurnFormat) -> TurnFormat:
    """Extend the header to all that the prompt has written, if every turn begins with it.

    The prompts of all settings share less if a switch decides which part comes first.
    """
    texts = {opening.text for opening in format_.openings}
    first = next(iter(format_.openings), None)
    if first is None or len(texts) > 1:
        return format_
    # If all turns continue the only prompt, the prompt consists of the header.
    begun = [layout.literals[0] for layout in format_.layouts.values() if not layout.refusal]
    if not begun or not all(text.startswith(first.text) for text in begun):
        return format_
    # If no turn of these settings closes the opening, it opens nothing in them.
    close = "" if format_.reasoning is None else format_.reasoning.close.core
    closed = any(close in text[len(first.text) :] for text in begun)
    opens = (
        first.written is PromptProgress.REASONING_OPEN and TurnPart.REASONING in format_.elsewhere
    )
    if first.written is not PromptProgress.OTHER and (not opens or closed):
        return format_
    openings = tuple(
        structs.replace(opening, written=PromptProgress.HEADER) for opening in format_.openings
    )
    return structs.replace(format_, header=first.text, openings=openings)


# Formats of all settings: the phases run once for all settings that write turns alike.


class LearnedFormats(NamedTuple):
    """All formats, and how the fullest one was found."""

    formats: Formats
    """The format of each group of settings, e.g. thinking on and thinking off."""
    findings: tuple[Finding, ...]
    """The conclusions of the phases under the setting of the fullest format, e.g. of `T2`:
    `"many calls"`."""
    requires_nonnull_content: bool
    """Whether null content beside a call raises or is printed as a word, e.g. `"None"`."""


class _Group(NamedTuple):
    """Settings under which turns are written alike."""

    settings: tuple[Setting, ...]
    """E.g. `({}, {"enable_thinking": True})`."""
    turns: tuple[str, ...]
    r"""Their renders of a few messages, e.g. `("A:wpzqqmqw.\n", …)`; empty if the template has one
    setting only."""

    def shows(self, words: tuple[str, ...]) -> bool:
        return any(word in text for word in words for text in self.turns)


def learn_formats(prober: Prober, start: PhaseInput, showing: Setting) -> LearnedFormats:
    """Learn the format of every setting; `prober` sets only what a render needs.

    The phases describe the format under `showing`, the setting that brings reasoning into the text:
    once it is known, the parts that other settings leave out of a turn can be named.
    """
    to_learn = settings_to_learn(prober.setting, showing, start.switches)
    groups = _group_settings(prober, to_learn.settings)
    turns = [turn for group in groups for turn in group.turns]
    start = replace(
        start,
        settings=to_learn.settings,
        prompts=_with_distinguishing_signs(
            prober, groups, prompts_under(prober, to_learn.settings)
        ),
        beginnings=tuple(dict.fromkeys(_text_before_parts(prober, turn) for turn in turns)),
    )
    # Compared by `repr`, since `True == 1` in Python.
    asked = repr(dict(showing))
    # The setting that shows most comes first, since its markers help to read the others.
    main = next(group for group in groups if asked in map(repr, group.settings))
    observer = Observer(prober.using(setting=showing))
    results = run_phases(observer, start)
    fullest = assemble_format(observer, start, results, main.settings)
    formats = [
        fullest if group is main else _learn_format_under(prober, start, group, fullest)
        for group in groups
    ]
    shared = share_settings(formats)
    # Sharing keeps the order, but may have replaced the fullest format with an equal earlier one.
    full = next(format_ for format_ in shared if written_alike(format_, fullest))
    together = Formats(tuple(shared), dict(prober.setting), fullest=full, untried=to_learn.untried)
    return LearnedFormats(together, results.findings, results.parts.requires_nonnull_content)


def format_under(
    prober: Prober, start: PhaseInput, formats: Formats, setting: Setting, *, tools: bool = True
) -> PromptFormat:
    """Find the format of a setting that is not one of those learned, by renders.

    Raises AutoparserError if the template raises on the setting itself.
    """
    asked, setting = setting, {**formats.base, **setting}
    error = prober.probe((prober.user,), setting=setting).error
    # If the template also raises without the setting, the setting is not the cause.
    if error is not None and prober.probe((prober.user,)).rendered:
        words = ", ".join(f"{name}={json.dumps(value)}" for name, value in asked.items())
        raise AutoparserError(
            f"the template raises under {words}: {error.reason}",
            file=prober.template.origin,
            place=None if error.line is None else f"line {error.line}",
            hint="use values the template accepts",
        ) from error
    # A setting that writes the same turns as a known one has its format.
    turns = turns_under(prober, setting)
    alike = (format_ for format_ in formats if turns_under(prober, format_.setting) == turns)
    format_ = next(alike, None)
    if format_ is None:
        group = _Group((setting,), turns)
        # Use the prompts of known settings, too: their common beginning is the header.
        known_settings = (*(opening.setting for opening in formats.openings), setting)
        start = replace(
            start, settings=known_settings, prompts=prompts_under(prober, known_settings)
        )
        format_ = _learn_format_under(prober, start, group, formats.fullest)
        return PromptFormat(format_, next(iter(format_.openings), None))
    prompts = prompts_under(prober, (setting,))
    openings = describe_openings(prompts, format_.header, format_.reasoning)
    fitting = (opening for opening in openings if opening.tools is tools)
    # A prompt without tools is listed only if it differs from the one with tools.
    opening = next(fitting, None) or next(iter(openings), None)
    return PromptFormat(format_, opening)


def _text_before_parts(prober: Prober, turn: str) -> str:
    """Return a turn's text up to its first part."""
    marks = prober.sentinels
    words = (marks.reasoning, marks.content, *marks.names, *marks.ids)
    return turn[: min((at for word in words if (at := turn.find(word)) >= 0), default=0)]


def _group_settings(prober: Prober, settings: tuple[Setting, ...]) -> list[_Group]:
    """Group the settings under which turns are written alike, the default's first."""
    if len(settings) == 1:
        # There is nothing to compare with, so no turn is rendered.
        return [_Group(settings, ())]
    found: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings:
        found.setdefault(turns_under(prober, setting), []).append(setting)
    return [_Group(tuple(alike), turns) for turns, alike in found.items()]


def _with_distinguishing_signs(
    prober: Prober, groups: Sequence[_Group], prompts: Sequence[PromptText]
) -> tuple[PromptText, ...]:
    """Add to each prompt the texts that distinguish it from prompts of other groups.

    For example instructions on how to write calls, if a value changes these with the calls.
    """
    words, user = prober.sentinels.words(), prober.sentinels.user
    # Settings with equal turns may still have prompts with different texts.
    before = {
        repr(dict(setting)): prober.probe((prober.user,), setting=setting).text.partition(user)[0]
        for group in groups
        for setting in group.settings
    }
    signs: dict[str, tuple[str, ...]] = {}
    for group in groups:
        own = [repr(dict(setting)) for setting in group.settings]
        others = dict.fromkeys(text for setting, text in before.items() if setting not in own)
        for setting in own:
            found = (_distinguishing_text(before[setting], other, words) for other in others)
            alone = (sign for sign in found if sign and not any(sign in other for other in others))
            signs[setting] = tuple(dict.fromkeys(alone))
    return tuple(prompt._replace(signs=signs[repr(dict(prompt.setting))]) for prompt in prompts)


SHORTEST_SIGN = 8
"""The minimum length in characters; shorter texts may be in any prompt."""


def _distinguishing_text(text: str, other: str, words: Sequence[str]) -> str:
    """Return the text of the one where the other differs, or an empty text if it is ambiguous."""
    split = diff_split(text, other)
    # A differing word is identified with its line before it, unless a tool is in that.
    line = split.prefix.rpartition("\n")[2]
    for sign in (f"{line}{split.left}".strip(), split.left.strip()):
        usable = len(sign) >= SHORTEST_SIGN and sign not in other
        if usable and not any(word in sign for word in words):
            return sign
    return ""


def _learn_format_under(
    prober: Prober, start: PhaseInput, group: _Group, fullest: TurnFormat
) -> TurnFormat:
    """Learn the format of a group of settings, given the fullest one."""
    marks = prober.sentinels
    start = replace(
        start,
        shows_reasoning=start.shows_reasoning and group.shows((marks.reasoning,)),
        shows_calls=start.shows_calls and group.shows((*marks.names, *marks.ids)),
        fullest=fullest,
    )
    observer = Observer(prober.using(setting=group.settings[0]))
    return assemble_format(observer, start, run_phases(observer, start), group.settings)
