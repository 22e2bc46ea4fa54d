r"""The phases on reasoning and content, which run first: R1, R3, C1.

Each phase compares renders that differ in one thing, and returns what it learned and a `Finding`
with these renders. For example `fixtures/templates/a1-function-parameter.jinja` writes, without and
with reasoning (`wpzqqmqw` is the sentinel of content, `dxdpspvg` that of reasoning),

    <|im_start|>assistant\n<think>\n\n</think>\n\nwpzqqmqw<|im_end|>\n
    <|im_start|>assistant\n<think>\ndxdpspvg\n</think>\n\nwpzqqmqw<|im_end|>\n

and the findings are

    R1    reasoning is written before the content (field reasoning_content)
    R3    reasoning is written before content and before calls; kept in history
    C1    content comes before calls, verbatim

R1 concludes from the two turns above. R3 asks the same beside a call, and whether later prompts
still have it; C1 whether content keeps its whitespace, and its place beside calls.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.message_shape import EmptyContent, Setting
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import EdgeStrip, StrippedEdges, TurnLayout, TurnPart
from autoparser.analysis.core.turn_shape import ReasoningRetention

from .generation_prompts import PromptText
from .historic_turns import before_next_user, learn_retention
from .observer import Observer
from .prober import Evidence, Finding, Probe
from .suggestions import Suggestions
from .turn_layouts import PRESENCES, Cut, find_cut, learn_layout

Layouts = Mapping[Presence, TurnLayout]

PLAIN = Presence(content=True)
REASONED = Presence(reasoning=True, content=True)
CALLED = Presence(reasoning=True, calls=True)
CALLS = Presence(calls=True)
ANSWERED_AND_CALLED = Presence(content=True, calls=True)

_ORDER = (PLAIN, REASONED, Presence(reasoning=True), CALLED, Presence(True, True, True))
"""The first layouts in a document, in the order of the phases that need them."""


class PhaseInput(Struct, frozen=True):
    """The facts about a template that its phases start from, under one setting."""

    suggestions: Suggestions
    """Names and constants to try, e.g. the constant `"</think>"`."""
    shows_reasoning: bool
    """Whether any turn under the setting shows reasoning."""
    shows_calls: bool
    """Whether any turn under the setting shows a call."""
    switches: tuple[Switch, ...] = ()
    """The template's switches, e.g. `enable_thinking` with the values True and False."""
    untried: int = 0
    """The number of variables beyond the limit of those tried, usually 0."""
    settings: tuple[Setting, ...] = ()
    """All settings to learn, the default first, e.g. `({}, {"enable_thinking": False})`."""
    beginnings: tuple[str, ...] = ()
    """The text of turns before their first part, under all settings, e.g. `"<|assistant|>\\n"`."""
    prompts: tuple[PromptText, ...] = ()
    """The generation prompt of each setting, e.g. `"<|assistant|>\\n<think>\\n"`."""
    fullest: TurnFormat | None = None
    """The format under the setting that shows most, e.g.
    `<TurnFormat: 'A:' reasoning, content until '.'>`, or None while that one is learned."""


class PartsStage(Struct, frozen=True):
    """The result of R1, R3 and C1: reasoning and content."""

    layouts: Layouts
    """The layout of a turn for each combination of parts; a call extends from its first sentinel to
    its last one, so that `<tool_call>` still belongs to the text around it."""
    cut: Cut | None
    """The text at which content is cut, e.g. `"</think>"`, if no field carries reasoning."""
    retention: ReasoningRetention
    """The later prompts that retain the reasoning of a turn, e.g. those of the same tool loop
    only."""
    requires_nonnull_content: bool
    """Whether null content beside a call raises or is printed as a word, e.g. `"None"`."""


def examine_parts(observer: Observer, start: PhaseInput) -> tuple[PartsStage, tuple[Finding, ...]]:
    """Run R1, R3 and C1, which read the same layouts."""
    layouts = {
        presence: learn_layout(observer, presence)
        for presence in dict.fromkeys((*_ORDER, *PRESENCES))
    }
    cut, r1 = examine_r1(observer, start, layouts)
    retention, r3 = examine_r3(observer, start, layouts)
    requires_nonnull_content, c1 = examine_c1(observer, start, layouts)
    return PartsStage(layouts, cut, retention, requires_nonnull_content), (r1, r3, c1)


# R1: no reasoning compared with reasoning, both before the same content.


def examine_r1(
    observer: Observer, start: PhaseInput, layouts: Layouts
) -> tuple[Cut | None, Finding]:
    """Find whether reasoning reaches the text, and if not, whether it is cut out of the content."""
    evidence = [observer.compare("no reasoning / reasoning", PLAIN, REASONED)]
    cut = None
    # A template without a reasoning field may still cut reasoning out of content.
    if not start.shows_reasoning:
        cut = find_cut(observer, start.suggestions)
        if cut is not None:
            plain = observer.sample(PLAIN).probe
            evidence.append(Evidence("content / content after a text", plain, cut.remainder))
    if TurnPart.REASONING in layouts[REASONED].parts:
        field = observer.prober.shape.reasoning_field
        conclusion = f"reasoning is written before the content (field {field})"
    elif start.shows_reasoning:
        conclusion = "reasoning is not rendered before content"
    elif cut is not None:
        conclusion = f"reasoning is cut from the content, up to {cut.text!r}"
    else:
        conclusion = "no message field is rendered as reasoning"
    markers = ("reasoning_start", "reasoning_end")
    return cut, Finding("R1", "reasoning", conclusion, tuple(evidence), markers)


# R3: reasoning before content compared with reasoning before calls.


def examine_r3(
    observer: Observer, start: PhaseInput, layouts: Layouts
) -> tuple[ReasoningRetention, Finding]:
    """Find beside which parts reasoning is written, and whether later prompts retain it."""
    retention = learn_retention(observer, reasoning=start.shows_reasoning, calls=start.shows_calls)
    evidence = [observer.compare("reasoning and content / reasoning and a call", REASONED, CALLED)]
    if retention.next_user is not None:
        last, later = before_next_user(observer)
        evidence.append(Evidence("the last turn / the turn before a user message", last, later))
    if retention.differs:
        # The pairs above offer tools; this one shows what is retained without tools.
        last, later = before_next_user(observer, tools=False)
        words = "the last turn / the turn before a user message, without tools"
        evidence.append(Evidence(words, last, later))
    with_content = TurnPart.REASONING in layouts[REASONED].parts
    with_calls = TurnPart.REASONING in layouts[CALLED].parts
    if with_content and with_calls:
        conclusion = "reasoning is written before content and before calls"
    elif with_calls:
        conclusion = "reasoning is written only before calls"
    elif with_content and start.shows_calls:
        conclusion = "reasoning is written only before content"
    elif any(TurnPart.REASONING in layout.parts for layout in layouts.values()):
        conclusion = "reasoning is written; the template writes no calls"
    else:
        conclusion = "no reasoning to compare"
    conclusion += _retention_words(retention)
    return retention, Finding("R3", "reasoning scope", conclusion, tuple(evidence))


def _retention_words(retention: ReasoningRetention) -> str:
    if retention.differs:
        tools = "tools" if retention.next_user else "no tools"
        return f"; kept in history only if {tools} are passed"
    kept = retention.next_user
    return "" if kept is None else f"; {'kept in' if kept else 'dropped from'} history"


# C1: content, calls and reasoning compared.


def examine_c1(observer: Observer, start: PhaseInput, layouts: Layouts) -> tuple[bool, Finding]:
    """Find the whitespace that content loses, its place beside calls, and whether it may be null.

    The first value is True if null content beside a call is not written like empty content.
    """
    evidence = [
        observer.compare("content / a call", PLAIN, CALLS),
        observer.compare("content / reasoning and content", PLAIN, REASONED),
        observer.compare("a call / content and a call", CALLS, ANSWERED_AND_CALLED),
    ]
    words = [_content_beside_calls(layouts[ANSWERED_AND_CALLED])] if start.shows_calls else []
    words.append(_stripped_words(layouts[PLAIN].content))
    # OpenAI's responses have null content beside calls, and clients send it back.
    null = _null_beside_calls(observer, start)
    if null is not None:
        difference = "a call without content / a call and null content"
        evidence.append(Evidence(difference, observer.sample(CALLS).probe, null))
        fate = "is rendered as a word" if null.rendered else "raises"
        words.append(f"null next to a call {fate}")
    markers = ("content_start", "content_end")
    return null is not None, Finding("C1", "content", ", ".join(words), tuple(evidence), markers)


def _null_beside_calls(observer: Observer, start: PhaseInput) -> Probe | None:
    """Render null content beside a call; return None if it is written like empty content.

    It is rendered once, under the setting that shows most.
    """
    if not start.shows_calls or start.fullest is not None:
        return None
    prober = observer.prober
    null = Observer(
        prober.using(shape=structs.replace(prober.shape, empty_content=EmptyContent.NULL))
    )
    turn = null.sample(CALLS)
    same = not turn.refusal and turn.text == observer.sample(CALLS).text
    return None if same else turn.probe


def _content_beside_calls(layout: TurnLayout) -> str:
    if layout.refusal:
        return "content next to calls raises"
    if TurnPart.CONTENT not in layout.parts:
        return "content next to calls is dropped"
    if TurnPart.CALLS not in layout.parts:
        return "calls next to content are dropped"
    before = layout.parts.index(TurnPart.CONTENT) < layout.parts.index(TurnPart.CALLS)
    return "content comes before calls" if before else "content comes after calls"


def _stripped_words(edges: StrippedEdges) -> str:
    if edges == StrippedEdges():
        return "verbatim"
    if edges.left is edges.right is EdgeStrip.WHITESPACE:
        return "stripped of whitespace"
    return f"loses {edges.left} on the left and {edges.right} on the right"
