"""Renders of a template in environments other than transformers' current one.

The facts about older releases are from the wheels of transformers: `tojson` without HTML escapes
came with 4.42, the generation tag with 4.43, loop controls and `strftime_now` with 4.45.

For a template that ends with `{{ strftime_now('%Y') }}`:

    found = first_difference(subject, other_environment(clock=False), clock=False)
    found.what, found.line  # ('a chat', 1)
    found.error  # "UndefinedError: 'strftime_now' is undefined"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import CodeType

from jinja2 import Environment, Template, Undefined, nodes
from jinja2.ext import LoopControlExtension
from jinja2.filters import FILTERS
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.learning.plain_words import plain_words
from autoparser.analysis.templates.environment import GenerationTag, chat_environment
from autoparser.analysis.templates.source_text import failure_line
from autoparser.analysis.templates.worker_limits import LimitReached, current_guard

from .hit import HitEvidence, ShownText
from .lint_renders import Render
from .other_renders import JinjaComparison, JinjaDifference, SentConversation, compare_sent
from .subject import Subject

# The behavior of installed engines for a finding, one sentence each. An engine that was not asked,
# or whose renders do not decide, is not blamed. The judge is the text that the template renders
# here.


def engines_at(subject: Subject, line: int | None) -> tuple[str, ...]:
    """Describe each engine's behavior at a line, over the matrix."""
    if line is None or not subject.jinjas or subject.failure is not None:
        return ()
    return tuple(_answer_at(subject, jinja, line) for jinja in subject.in_other_jinjas)


def engines_on(
    subject: Subject, words: str, judged_render: Render, wanted_render: Render
) -> tuple[str, ...]:
    """Describe each engine's behavior for a conversation whose text should be `wanted_render`."""
    sent_with, judged = (
        next(
            past_render.variables
            for past_render in subject.past_renders
            if past_render.render is render
        )
        for render in (judged_render, wanted_render)
    )
    sent = [SentConversation(words, sent_with, wanted_render, judged)]
    comparisons = (
        compare_sent(jinja, subject.rendering, subject.tokens, sent) for jinja in subject.jinjas
    )
    return tuple(_answer_on(comparison) for comparison in comparisons)


def _answer_at(subject: Subject, comparison: JinjaComparison, line: int) -> str:
    label = comparison.jinja.label
    there = [
        difference
        for difference in comparison.differences
        if difference.place and difference.place.line == line
    ]
    if there:
        share = f"{len(there)} of {comparison.asked_count} conversations"
        return f"{label} {_difference_words(there[0])} in {share}"
    # Only a conversation that runs the line shows that it works there.
    if any(_runs_line(subject, conversation, line) for conversation in comparison.same):
        return f"{label} renders it like transformers"
    return f"{label} rendered no conversation that reaches it"


def _answer_on(comparison: JinjaComparison) -> str:
    label = comparison.jinja.label
    if comparison.differences:
        return f"{label} {_difference_words(comparison.differences[0])}"
    if comparison.same:
        return f"{label} renders it like transformers"
    return f"{label} was not tested: {', '.join(comparison.not_asked)}"


def _difference_words(difference: JinjaDifference) -> str:
    error = difference.answer.error
    return f"fails: {error}" if error else "renders a different text"


def _runs_line(subject: Subject, conversation: SentConversation, line: int) -> bool:
    """Return whether a line is executed in a conversation."""
    trace = subject.rendering.step_through(conversation.variables)
    sites = {step.site for step in trace.steps} | {
        piece.site for piece in trace.pieces if piece.site is not None
    }
    return any(trace.sites[site].line == line for site in sites)


CLOCK = "strftime_now"
"""The function by which templates read the time."""


@dataclass(frozen=True, slots=True)
class OtherRender:
    """A conversation rendered here and in another environment."""

    what: str
    """The conversation in words, e.g. ``a tool call``."""
    usual: Render
    """The render here, e.g. the `Render` of a question."""
    text: str = ""
    r"""The text there, e.g. ``"User: pkvrbnwj\n\nAssistant: "``."""
    error: str = ""
    """The error there, e.g. ``"TypeError: do_tojson() missing 1 required positional argument:
    'value'"``; empty if it renders."""
    failed_at: int | None = None
    """The template's line that fails there, e.g. 17, or None if unknown."""
    plain: Callable[[], OtherRender | None] = field(default=lambda: None, compare=False, repr=False)
    """Renders both again in plain words, e.g. ``"What is the weather in Rio?"`` for ``"pkvrbnwj"``;
    None if those differ."""

    @property
    def differs(self) -> bool:
        """Whether the render here fails there or becomes another text."""
        return self.usual.rendered and (bool(self.error) or self.text != self.usual.text)

    @property
    def line(self) -> int | None:
        """The line that fails there, or that wrote the first differing character here."""
        if self.error:
            return self.failed_at
        return self.usual.line_at(prefix_length(self.usual.text, self.text))

    def evidence(self, label: str, other_label: str) -> HitEvidence:
        """Return evidence of both renders."""
        shown = self.plain() or self
        other = ShownText(other_label, shown.text, shown.error)
        return HitEvidence(shown.usual.shown_text(label), other)


class OpenTag(GenerationTag):
    """A generation tag without effect: its body is rendered in place."""

    def parse(self, parser: Parser) -> list[nodes.Node]:  # type: ignore[override]
        """Parse the block up to its end tag."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@cache
def other_environment(
    *,
    clock: bool = True,
    tojson: bool = True,
    trim: bool = True,
    undefined: type[Undefined] = Undefined,
    scoped: bool = True,
) -> Environment:
    """Return transformers' environment without some of its additions to Jinja.

    If not `scoped`, the generation tag opens no scope of its own.
    """
    usual = chat_environment()
    made = ImmutableSandboxedEnvironment(
        trim_blocks=trim,
        lstrip_blocks=trim,
        extensions=(LoopControlExtension, GenerationTag if scoped else OpenTag),
        optimized=False,
        undefined=undefined,
    )
    # Copied, because the environment of all other renders must keep its own.
    made.globals = {**usual.globals}
    if not clock:
        del made.globals[CLOCK]
    made.filters["tojson"] = usual.filters["tojson"] if tojson else FILTERS["tojson"]
    return made


def render_elsewhere(
    subject: Subject, environment: Environment, code: CodeType | None = None, *, clock: bool = True
) -> Iterator[OtherRender]:
    """Render ordinary conversations in another environment.

    `code` is the template compiled for it, if that differs from the template's own code. Without
    `clock`, `strftime_now` is undefined.
    """
    code = subject.template.code if code is None else code
    guard = current_guard()
    template = Template.from_code(environment, code, dict(environment.globals))
    words = plain_words(subject.template.text)

    def rendered(what: str, usual: Render, variables: Mapping[str, object]) -> OtherRender:
        # Rules pass their clock as a variable, which would hide that the global is missing.
        given = {key: value for key, value in variables.items() if clock or key != CLOCK}
        try:
            pieces = template.root_render_func(template.new_context(given))
            text = "".join(pieces if guard is None else guard.collect(pieces, len))
        except LimitReached as reached:
            return OtherRender(what, usual, error=reached.words)
        except Exception as error:  # noqa: BLE001 - untrusted code raises whatever it likes
            reason = one_line(f"{type(error).__name__}: {error}").rstrip(".")
            return OtherRender(what, usual, error=reason, failed_at=failure_line(error))
        return OtherRender(what, usual, text)

    def plain(found: OtherRender, variables: Mapping[str, object]) -> OtherRender | None:
        usual = found.usual.plain()
        if usual is None:
            return None
        other = rendered(found.what, usual, words.variables(variables))
        same = other.text == words.text(found.text) and other.error == words.text(found.error)
        return other if same else None

    for name, usual, variables in ordinary_conversations(subject):
        found = rendered(name, usual, variables)
        yield replace(found, plain=partial(plain, found, variables))


def first_difference(
    subject: Subject, environment: Environment, code: CodeType | None = None, *, clock: bool = True
) -> OtherRender | None:
    """Return the first ordinary conversation that another environment renders differently."""
    renders = render_elsewhere(subject, environment, code, clock=clock)
    return next((render for render in renders if render.differs), None)


def compile_anew(subject: Subject, environment: Environment) -> CodeType:
    """Compile the template for an environment that parses it differently, or has other filters."""
    # Compiled code passes a filter what that filter asked for: Jinja's own `tojson` asks for the
    # evaluation context, and fails in code compiled for transformers', which does not.
    return environment.compile(environment.parse(subject.template.text))


def loop_control(subject: Subject) -> int | None:
    """Return the line of the first `break` or `continue`, or None."""
    if not any(kind.__name__.lower() in subject.template.text for kind in _CONTROLS):
        return None  # a shortcut
    tree = subject.template.syntax_tree
    return next((node.lineno for kind in _CONTROLS for node in tree.find_all(kind)), None)


def generation_tag(subject: Subject) -> int | None:
    """Return the line of the first generation tag, or None."""
    calls = subject.template.syntax_tree.find_all(nodes.CallBlock)
    tags = (call.lineno for call in calls if isinstance(call.call.node, nodes.ExtensionAttribute))
    return next(tags, None)


_CONTROLS: tuple[type[nodes.Node], ...] = (nodes.Break, nodes.Continue)


def ordinary_conversations(subject: Subject) -> Iterator[tuple[str, Render, Mapping[str, object]]]:
    """Yield ordinary conversations: a name, transformers' render, and the variables."""
    for name, dialogue, tools in (
        ("a chat", subject.chat, False),
        ("a tool call", subject.loop, True),
    ):
        played = subject.play(dialogue, tools=tools, generation=True)
        render = subject.as_transformers(played, tools=tools, generation=True)
        yield name, render, subject.variables(render, tools=tools, generation=True)
