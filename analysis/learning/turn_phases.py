"""Run the phases on reasoning, content and arguments; each adds its findings to a draft.

A phase compares renders that differ in one thing and returns the draft with what it learned, and a
finding with its evidence:

    R1, R2, R3      reasoning: whether it is shown, in prompts, beside other parts
    C1              content: its wrapper, its whitespace, its place beside calls
    A1, A2, A3      arguments: names, strings, values of other types

`format_assembly.py` has the phases on calls, and the order of all phases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from msgspec import structs

from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json, Presence
from autoparser.analysis.core.message_shape import EmptyContent, Setting
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.core.text_format import (
    EdgeStrip,
    StringEscape,
    StringText,
    StrippedEdges,
    TurnLayout,
    TurnPart,
)
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_shape import ReasoningRetention
from autoparser.analysis.core.verdicts import EvidenceKind

from .argument_containers import Enclosure, SeenArguments, container_of, learn_types
from .argument_notation import (
    Strings,
    TypedRows,
    hostile_string,
    learn_key,
    learn_strings,
    typed_samples,
)
from .call_frame import CallsFrame, Leads, PromptText
from .call_rows import SeenId, SeenSlot, cut_at, learn_slot, quotes_around
from .observer import Observer
from .prober import Evidence, Finding, Probe, surroundings_words
from .prompt_words import (
    FreeStretch,
    NamedReasoning,
    WordedCall,
    WordedPair,
    before_next_user,
    find_worded_reasoning,
    learn_retention,
    read_prompts,
)
from .suggestions import Suggestions
from .turn_layouts import PRESENCES, Cut, SectionMarkers, SeenEnd, find_cut, learn_layout


@dataclass(frozen=True, slots=True)
class Draft:
    """The format as far as it is known; each phase adds to it."""

    suggestions: Suggestions
    shows_reasoning: bool
    shows_calls: bool
    switches: tuple[Switch, ...] = ()
    untried: int = 0
    """The number of variables beyond the limit of those tried."""
    settings: tuple[Setting, ...] = ()
    """All settings under which a turn or its beginning may differ, the default first."""
    beginnings: tuple[str, ...] = ()
    """The beginnings of turns, up to their first part, under all these settings."""
    fullest: TurnFormat | None = None
    """The format under the setting that shows most, if that is another one."""
    layouts: Mapping[Presence, TurnLayout] = field(default_factory=dict[Presence, TurnLayout])
    cut: Cut | None = None
    retention: ReasoningRetention = field(default_factory=ReasoningRetention)
    named_reasoning: NamedReasoning | None = None
    """The markers of reasoning that prompts or words show, and no turn does."""
    worded_call: WordedCall | None = None
    prompts: tuple[PromptText, ...] = ()
    """The text of each setting's generation prompt."""
    header: str = ""
    frame: CallsFrame | None = None
    section: SectionMarkers | None = None
    ends: tuple[SeenEnd, ...] = ()
    leads: Leads = field(default_factory=Leads)
    """Markers before calls, and stop strings, that only a tool list or a constant shows (T3)."""
    name: SeenSlot | None = None
    """The slot of a call's name (T4)."""
    call_id: SeenSlot | None = None
    """The slot of its id (T7)."""
    seen_id: SeenId | None = None
    """How the id carries the name, if no name is written (T7)."""
    free: tuple[FreeStretch, ...] = ()
    """Stretches of a call that a field of the message replaces (T1)."""
    listed: SeenArguments | None = None
    """How arguments follow one another (T5)."""
    key: SeenSlot | None = None
    """The slot of an argument's name (A1)."""
    names: StringText = field(default_factory=StringText)
    """How arguments' names are written (A1)."""
    strings: Strings | None = None
    """How a string is written, with the literals around it (A2)."""
    types: TypedRows | None = None
    """How arguments of each other type are written (A3)."""
    enclosure: Enclosure | None = None
    """The brackets around the arguments, and a call without any (T6)."""
    requires_nonnull_content: bool = False
    """Whether null content beside a call raises or is printed as a word."""


# R1: no reasoning compared with reasoning, both before the same content.


PLAIN = Presence(content=True)
REASONED = Presence(reasoning=True, content=True)


def examine_r1(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Find whether reasoning reaches the text, and if not, whether it is cut out of the content."""
    layouts = {presence: learn_layout(observer, presence) for presence in (PLAIN, REASONED)}
    shown = TurnPart.REASONING in layouts[REASONED].parts
    evidence = [observer.compare("no reasoning / reasoning", PLAIN, REASONED)]
    cut = None
    if not draft.shows_reasoning:
        cut = find_cut(observer, draft.suggestions)
        if cut is not None:
            plain = observer.sample(PLAIN).probe
            evidence.append(Evidence("content / content after a text", plain, cut.remainder))
    field = observer.prober.shape.reasoning_field
    if shown:
        conclusion = f"reasoning is written before the content (field {field})"
    elif draft.shows_reasoning:
        conclusion = "reasoning is not written before content"
    elif cut is not None:
        conclusion = f"reasoning is only cut out of the content, up to {cut.text!r}"
    else:
        conclusion = "no field brings reasoning into the text"
    draft = replace(draft, layouts={**draft.layouts, **layouts}, cut=cut)
    markers = ("reasoning_start", "reasoning_end")
    return draft, Finding("R1", "reasoning", conclusion, tuple(evidence), markers)


# R2: the generation prompt with thinking off compared with on.


def examine_r2(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Find how much of the turn, and of reasoning, each setting's generation prompt has written.

    It needs the header, so it runs after T3.
    """
    prober = observer.prober
    default, *others = draft.settings

    def prompt(setting: Setting) -> Probe:
        return prober.probe((prober.user,), generation=True, setting=setting)

    pairs = [
        Evidence(f"unset / {_words(setting)}", prompt(default), prompt(setting))
        for setting in others
    ]
    if not pairs:
        bare = prober.probe((prober.user,), setting=default)
        words = "no generation prompt / generation prompt"
        pairs = [Evidence(words, bare, prompt(default))]
    worded = None
    if not draft.shows_reasoning and draft.cut is None and draft.fullest is None:
        worded = find_worded_reasoning(observer, draft.switches)
    if worded is not None:
        pairs.append(Evidence("switch unset / set", worded.without, worded.with_words))
    named = _named_reasoning(observer, draft, worded)
    draft = replace(draft, named_reasoning=named)
    texts = {each.text for each in draft.prompts}
    if len(texts) > 1:
        conclusion = f"{len(texts)} different generation prompts, by the switches"
    elif texts == {""}:
        conclusion = "no generation prompt"
    else:
        conclusion = "one generation prompt, whatever is set"
    if draft.untried:
        conclusion += f"; {draft.untried} further variables were not tried"
    if worded is not None:
        conclusion += "; a switch's words in the prompt name a pair of tags"
    elif named is not None and not named.confirmed:
        conclusion += f"; reasoning, which no turn shows, begins with {named.open!r} there"
    kind = EvidenceKind.RENDER if worded is None else EvidenceKind.WORDS
    return draft, Finding(
        "R2",
        "reasoning switch",
        conclusion,
        tuple(pairs),
        kind=kind,
    )


def _named_reasoning(
    observer: Observer, draft: Draft, worded_pair: WordedPair | None
) -> NamedReasoning | None:
    """Return the markers of reasoning that turns do not show, or None if they do."""
    parts = {part for layout in draft.layouts.values() for part in layout.parts}
    if draft.shows_reasoning or TurnPart.REASONING in parts:
        return None
    if draft.fullest is not None and TurnPart.REASONING in draft.fullest.shown_parts:
        block = draft.fullest.reasoning
        return None if block is None else NamedReasoning(block.open.text, block.close.text)
    cut = "" if draft.cut is None else draft.cut.text
    named = read_prompts(observer, draft.prompts, draft.header, cut)
    if not named.close and worded_pair is not None:
        return NamedReasoning(worded_pair.open, worded_pair.close, confirmed=False)
    return named


def _words(setting: Setting) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in setting.items())


# R3: reasoning before content compared with reasoning before calls.


CALLED = Presence(reasoning=True, calls=True)


def examine_r3(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Find beside which parts reasoning is written, and whether later prompts retain it."""
    wanted = (
        Presence(reasoning=True),
        CALLED,
        Presence(reasoning=True, content=True, calls=True),
    )
    layouts = {presence: learn_layout(observer, presence) for presence in wanted}
    retention = learn_retention(observer, reasoning=draft.shows_reasoning, calls=draft.shows_calls)
    draft = replace(draft, layouts={**draft.layouts, **layouts}, retention=retention)
    evidence = [observer.compare("reasoning and content / reasoning and a call", REASONED, CALLED)]
    if retention.next_user is not None:
        last, later = before_next_user(observer)
        evidence.append(Evidence("the last turn / the turn before a user message", last, later))
    if retention.differs:
        last, later = before_next_user(observer, tools=False)
        words = "the last turn / the turn before a user message, without tools"
        evidence.append(Evidence(words, last, later))
    beside = [
        str(presence)
        for presence, layout in draft.layouts.items()
        if TurnPart.REASONING in layout.parts
    ]
    with_content = TurnPart.REASONING in draft.layouts[REASONED].parts
    with_calls = TurnPart.REASONING in layouts[CALLED].parts
    if with_content and with_calls:
        conclusion = "reasoning is written before content and before calls"
    elif with_calls:
        conclusion = "reasoning is written only before calls"
    elif with_content and draft.shows_calls:
        conclusion = "reasoning is written only before content"
    elif beside:
        conclusion = "reasoning is written; the template writes no calls"
    else:
        conclusion = "no reasoning to compare"
    conclusion += _history(retention)
    return draft, Finding("R3", "reasoning scope", conclusion, tuple(evidence))


def _history(retention: ReasoningRetention) -> str:
    if retention.differs:
        tools = "with" if retention.next_user else "without"
        return f"; earlier turns keep theirs only {tools} tools"
    kept = retention.next_user
    return "" if kept is None else f"; earlier turns {'keep' if kept else 'lose'} theirs"


# C1: content, calls and reasoning compared.


CALLS = Presence(calls=True)
ANSWERED_AND_CALLED = Presence(content=True, calls=True)


def examine_c1(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Find the wrapper of content, the whitespace it loses, and its place beside calls."""
    missing = [presence for presence in PRESENCES if presence not in draft.layouts]
    layouts = {presence: learn_layout(observer, presence) for presence in missing}
    draft = replace(draft, layouts={**draft.layouts, **layouts})
    evidence: tuple[Evidence, ...] = (
        observer.compare("content / a call", PLAIN, CALLS),
        observer.compare("content / reasoning and content", PLAIN, REASONED),
        observer.compare("a call / content and a call", CALLS, ANSWERED_AND_CALLED),
    )
    null = _null_beside_calls(observer, draft)
    if null is not None:
        draft = replace(draft, requires_nonnull_content=True)
        difference = "a call without content / a call and null content"
        evidence = (*evidence, Evidence(difference, observer.sample(CALLS).probe, null))
    words = [_beside_calls(draft.layouts[ANSWERED_AND_CALLED])] if draft.shows_calls else []
    words.append(_stripped(draft.layouts[PLAIN].content))
    if null is not None:
        fate = "printed as a word" if null.rendered else "refused"
        words.append(f"null beside a call is {fate}")
    markers = ("content_start", "content_end")
    return draft, Finding("C1", "content", ", ".join(words), evidence, markers)


def _null_beside_calls(observer: Observer, draft: Draft) -> Probe | None:
    """Render null content beside a call; return None if it is written like empty content.

    It is rendered once, under the setting that shows most.
    """
    if not draft.shows_calls or draft.fullest is not None:
        return None
    prober = observer.prober
    null = Observer(
        prober.using(shape=structs.replace(prober.shape, empty_content=EmptyContent.NULL))
    )
    turn = null.sample(CALLS)
    same = not turn.refusal and turn.text == observer.sample(CALLS).text
    return None if same else turn.probe


def _beside_calls(layout: TurnLayout) -> str:
    if layout.refusal:
        return "content beside calls is refused"
    if TurnPart.CONTENT not in layout.parts:
        return "content is dropped beside calls"
    if TurnPart.CALLS not in layout.parts:
        return "calls are dropped beside content"
    before = layout.parts.index(TurnPart.CONTENT) < layout.parts.index(TurnPart.CALLS)
    return "content stands before calls" if before else "content stands after calls"


def _stripped(edges: StrippedEdges) -> str:
    if edges == StrippedEdges():
        return "written as it is"
    if edges.left is edges.right is EdgeStrip.WHITESPACE:
        return "stripped of whitespace"
    return f"loses {edges.left} on the left and {edges.right} on the right"


# A1: one argument name compared with another.


def examine_a1(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn the slot of an argument's name: the text of the argument that changes with it."""
    marks = observer.prober.sentinels
    name, other, value = marks.keys[0], marks.keys[1], marks.values[0]
    pair: list[dict[str, Json]] = [{name: value}, {other: value}]
    conclusion = "no arguments to compare"
    if draft.listed is not None:
        place, entries = draft.listed.place(observer), draft.listed.entries
        one, two = (entries.inside(place.site(each)) for each in pair)
        draft = replace(draft, key=learn_slot(RowSlot.KEY, name, one, two))
        names = learn_key(place)
        if names != draft.names:
            draft = replace(draft, names=names)
        if one is not None and draft.key is not None:
            conclusion = _key_words(draft.key, cut_at((one,), value, RowSlot.VALUE))
            if one.replace(name, other) != two:
                conclusion += "; what stands around them depends on them"
    evidence = observer.compare_arguments("one argument name / another", *pair)
    markers = ("arg_name_prefix", "arg_name_suffix")
    return draft, Finding("A1", "argument names", conclusion, (evidence,), markers)


def _key_words(key: SeenSlot, row: Row) -> str:
    around = surroundings_words(*quotes_around(key.cut(row), RowSlot.KEY))
    return f"names are written{around or ' as they are'}"


# A2: one argument value compared with another.


def examine_a2(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn the literals around a string value, and the escape of its characters."""
    marks = observer.prober.sentinels
    plain: dict[str, Json] = {marks.keys[0]: marks.values[0]}
    hostile: dict[str, Json] = {marks.keys[0]: hostile_string(marks.values[0])}
    difference = "one value / one of characters that get escaped"
    evidence = observer.compare_arguments(difference, plain, hostile)
    strings = None
    if draft.listed is not None:
        place = draft.listed.place(observer)
        strings = learn_strings(place, draft.listed.entries, draft.key)
    conclusion = "no values to compare" if strings is None else _string_words(strings)
    draft = replace(draft, strings=strings)
    markers = ("arg_value_prefix", "arg_value_suffix")
    return draft, Finding("A2", "argument values", conclusion, (evidence,), markers)


def _string_words(strings: Strings) -> str:
    text = strings.text
    conclusion = f"strings are written {text.escape.words}"
    if text.escape is not StringEscape.PYTHON:
        conclusion += surroundings_words(*quotes_around(strings.row, RowSlot.VALUE))
    if text.guard is not None:
        conclusion += f", some wrapped in {text.guard.open!r} and {text.guard.close!r}"
    return conclusion


# A3: a string value compared with a value of each other type.


def examine_a3(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn how each type is written, and the notation of arrays and objects."""
    marks = observer.prober.sentinels
    if draft.listed is None or draft.strings is None:
        return draft, Finding("A3", "value types", "no values to compare")
    entries = draft.listed.entries
    types = learn_types(draft.listed.place(observer), entries, draft.strings)
    string: dict[str, Json] = {marks.keys[0]: marks.values[0]}
    evidence = tuple(
        observer.compare_arguments(f"a string / {kind}", string, {marks.typed_keys[kind]: value})
        for kind, value in dict(typed_samples(marks)).items()
    )
    container = container_of(entries, draft.strings, types, draft.names)
    values = container.values
    if values is None or values.is_json:
        conclusion = "all values are written as JSON"
    else:
        words = f"{values.true}, {values.false}, {values.null}"
        inner = values.array.values or values
        kind = "JSON" if inner.is_json else "a notation of their own"
        conclusion = f"{words}; arrays and objects in {kind}"
    if any(row is None for row in container.typed.values()):
        conclusion += "; null arguments are dropped"
    return replace(draft, types=types), Finding("A3", "value types", conclusion, evidence)
