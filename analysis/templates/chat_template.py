"""A chat template as a value, rendered exactly as transformers 5.23.0 renders it.

    messages, tools, switches -> prepared_messages, prepared_tools -> ChatTemplate.render -> text

Contract: a template's text is parsed and compiled once, on first use. Every exception of Jinja or
of the template becomes an error of `autoparser.analysis.core.errors`. A template is untrusted code:
it runs in Jinja's immutable sandbox or, on request, in the mutable one, where it gets copies and
nothing outlives a render.

For example, a message as it is prepared for a template, without None and with both names of its
reasoning:

    prepared_messages([{"role": "assistant", "content": None, "thinking": "Hm"}])
    ->  [{"thinking": "Hm", "role": "assistant", "reasoning_content": "Hm"}]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from autoparser.analysis.core.error_words import (
    is_mapping,
    is_row,
)
from autoparser.analysis.core.errors import (
    TemplateLimitError,
    TemplateRenderError,
    TemplateSyntaxError,
)
from autoparser.analysis.core.provenance import Provenance

from .limit_errors import raise_limit_hint
from .render_trace import RenderTrace, SourceMap, source_map
from .sandbox_kind import SandboxKind
from .worker_limits import LimitReached, RenderGuard, current_guard

if TYPE_CHECKING:
    from types import CodeType

    from jinja2 import Template, nodes

    from .compiled_template import CompiledTemplate
    from .traced_render import TraceableTemplate

# ruff: noqa: PLC0415
# Modules that import Jinja are imported when a template is first compiled: Jinja takes longer to
# import than cached lint, which renders nothing, takes for all else.


# Messages, tools and switches, prepared for a render as transformers 5.23.0 prepares them.
#
# Facts from the wheel (``apply_chat_template`` and ``utils/chat_template_utils.py``): message
# keys whose value is None are dropped; the first reasoning field that is set is copied to the
# standard one and to the one that some templates read instead; and every value that a template sees
# is rebuilt from plain JSON types, any other object becoming a placeholder with its type's name.


REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")
"""The message fields that hold reasoning, in the order in which transformers reads them."""

Message = dict[str, object]


def prepared_messages(messages: Sequence[object]) -> list[Message]:
    """Return plain copies of ``messages`` with None dropped and the reasoning fields filled.

    Raises ValueError for an empty conversation, TypeError for a message that is not a mapping,
    dataclass or pydantic model.
    """
    if not messages:
        raise ValueError("the conversation is empty: pass at least one message")
    return [_prepared_message(message) for message in messages]


def prepared_tools(tools: Sequence[object] | None) -> list[object] | None:
    """Return plain copies of the tools' JSON schemas; None stays None.

    Raises TypeError for anything but a mapping: Python functions are not turned into schemas.
    """
    if tools is None:
        return None
    for tool in tools:
        if not isinstance(tool, Mapping):
            kind = type(tool).__name__
            raise TypeError(f"a tool must be a dict with its JSON schema, not a {kind}")
    return [plain_value(tool) for tool in tools]


def plain_value(value: object) -> object:
    """Rebuild ``value`` from plain JSON types; others become a placeholder with the type's name."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    # Subclasses such as enums have methods of their own, so only their value is kept.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return _plain_container(value)


def _plain_container(value: object) -> object:
    if is_mapping(value):
        return {plain_value(key): plain_value(item) for key, item in value.items()}
    if is_row(value):
        items = map(plain_value, value)
        # A template that writes a whole value shows which of the two it is: `[1]` or `(1,)`.
        return [*items] if isinstance(value, list) else (*items,)
    if _is_numpy_scalar(value):
        return plain_value(getattr(value, "item")())  # noqa: B009 - numpy is not imported here
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain_value(getattr(value, field.name)) for field in fields}
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain_value(dump())
    return f"<{type(value).__name__}>"


def _is_numpy_scalar(value: object) -> bool:
    # Check class names, since numpy need not be installed.
    return any(
        base.__module__ == "numpy" and base.__name__ == "generic" for base in type(value).__mro__
    )


def _prepared_message(message: object) -> Message:
    rebuilt = plain_value(message)
    if not is_mapping(rebuilt):
        kind = type(message).__name__
        raise TypeError(f"a message must be a dict with a role, not a {kind}")
    kept = {key: value for key, value in rebuilt.items() if value is not None}
    standard, other, _ = REASONING_FIELDS
    reasoning = next((kept[field] for field in REASONING_FIELDS if field in kept), None)
    if reasoning is None:
        return kept
    # The message's own `thinking` stays; the standard field gets the first field that is set.
    return {other: reasoning, **kept, standard: reasoning}


Result = TypeVar("Result")


@dataclass(frozen=True, repr=False)
class ChatTemplate:
    """The text of a chat template with its special tokens, rendered as transformers does.

        template = ChatTemplate("{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}",
                                {"eos_token": "</s>"})
        template.render([{"role": "user", "content": "Hi"}])  # 'Hi</s>'

    The template is compiled when it is first used.
    """

    text: str
    """The Jinja source, e.g. `"{% for m in messages %}{{ m.content }}{% endfor %}"`."""

    special_tokens: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Variables of every render, e.g. `{"bos_token": "<s>"}`, unless a switch overrides them."""

    name: str | None = None
    """Its name among a model's templates, e.g. `"default"`, or None."""

    origin: str | None = None
    """Where it came from, as errors name it, e.g. `"model/chat_template.jinja"`; None for text
    given directly."""

    source: Provenance | None = None
    """Where it came from, in full, e.g. the file `"fixtures/templates/p1-python-lines.jinja"`; None
    for text given directly."""

    sandbox: SandboxKind = SandboxKind.IMMUTABLE
    """The sandbox of its renders, e.g. `SandboxKind.IMMUTABLE`; the mutable one allows changes that
    transformers' refuses."""

    def __repr__(self) -> str:
        """Return where it came from and its length, in one line."""
        lines = len(self.text.splitlines())
        of = self.origin or self.name or "a text"
        return f"<{type(self).__name__} of {of}: {lines} line{'s' * (lines != 1)}>"

    def render(
        self,
        messages: Sequence[object],
        tools: Sequence[object] | None = None,
        add_generation_prompt: bool = False,
        *,
        documents: Sequence[object] | None = None,
        **switches: object,
    ) -> str:
        """Return the text of transformers' `apply_chat_template(tokenize=False)`.

        `messages`, `tools` and `documents` are lists of dicts; `switches` are any other variables
        of the template and override special tokens. Raises TemplateSyntaxError or
        TemplateRenderError for errors of the template, TypeError or ValueError for messages or
        tools of a wrong type.
        """
        given = self.variables(
            messages, tools, add_generation_prompt, documents=documents, **switches
        )
        return self.render_prepared(given)

    def variables(
        self,
        messages: Sequence[object],
        tools: Sequence[object] | None = None,
        add_generation_prompt: bool = False,
        *,
        documents: Sequence[object] | None = None,
        **switches: object,
    ) -> dict[str, object]:
        """Return the variables of `render`. Raises TypeError or ValueError as that does."""
        for document in documents or ():
            if not isinstance(document, Mapping):
                kind = type(document).__name__
                raise TypeError(f"a document must be a dict with title and text, not a {kind}")
        return {
            **self.special_tokens,
            **{name: plain_value(value) for name, value in switches.items()},
            "messages": prepared_messages(messages),
            "tools": prepared_tools(tools),
            "documents": plain_value(documents),
            "add_generation_prompt": add_generation_prompt,
        }

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        """Render with exactly these variables: nothing is normalized or added.

        The fast path for many renders. The caller merges `special_tokens` and passes `messages`,
        `tools`, `documents` and `add_generation_prompt` in the form that transformers gives them. A
        variable overrides a global of the same name, so a fixed clock is a `strftime_now` among
        them. Variables are copied only if the sandbox lets the template change them. Raises
        TemplateSyntaxError, TemplateRenderError.
        """
        return self._run(self._compiled.template, variables)

    def source_map(self, variables: Mapping[str, object], *, in_macros: bool = False) -> SourceMap:
        """Render as `render_prepared` does, and return the origin of each stretch of text.

        With `in_macros`, the origin of a macro's text is in the macro, not where it is called.
        Raises TemplateSyntaxError, TemplateRenderError.
        """
        trace = self._render_traced(variables, most_steps=0)
        if trace.failure is not None:
            raise trace.failure
        return source_map(trace.pieces, trace.sites, in_macros=in_macros)

    def step_through(
        self, variables: Mapping[str, object], *, in_full: bool = False
    ) -> RenderTrace:
        """Render as `render_prepared` does, and return a trace of each step.

        The trace of a render that fails ends there, with its error. Its values are shortened,
        unless `in_full`. Raises TemplateSyntaxError.
        """
        from .trace_recorder import MOST_STEPS

        return self._render_traced(variables, most_steps=MOST_STEPS, in_full=in_full)

    def _render_traced(
        self, variables: Mapping[str, object], *, most_steps: int, in_full: bool = False
    ) -> RenderTrace:
        from .traced_render import render_traced

        made = self._traceable

        def render(start: Callable[[], Iterable[str]]) -> list[str]:
            def pieces(guard: RenderGuard | None) -> list[str]:
                return [*start()] if guard is None else guard.collect(start(), len)

            return self._run_within_limits(pieces)

        return render_traced(
            made, self._own_variables(variables), render, most_steps, in_full=in_full
        )

    @cached_property
    def _traceable(self) -> TraceableTemplate:
        from .traced_render import compile_traced

        # The plain compilation runs within the limits of a worker and locates errors; the one for
        # traces does neither, so it is only given templates that have passed the plain one.
        self.check_syntax()
        return compile_traced(self.text, self.sandbox)

    @cached_property
    def marks_generation(self) -> bool:
        """Whether it has ``{% generation %}`` blocks, which mark the model's own text."""
        from .compiled_template import has_generation_blocks

        return has_generation_blocks(self.syntax_tree)

    def render_generation(self, variables: Mapping[str, object]) -> str:
        """Render as `render_prepared` does, with a mark at both ends of each generation block.

        The marks are the characters `GENERATION_OPEN` and `GENERATION_CLOSE`.
        """
        return self._run(self._marking, variables)

    def _run(self, compiled: Template, variables: Mapping[str, object]) -> str:
        def render_pieces(guard: RenderGuard | None) -> str:
            # As Template.render does, but without rewriting tracebacks.
            pieces = compiled.root_render_func(compiled.new_context(self._own_variables(variables)))
            return "".join(pieces if guard is None else guard.collect(pieces, len))

        return self._run_within_limits(render_pieces)

    def _own_variables(self, variables: Mapping[str, object]) -> dict[str, object]:
        """Return the variables of one render, copied where the template may change them."""
        given = {**variables}
        return given if self.sandbox is SandboxKind.IMMUTABLE else deepcopy(given)

    @cached_property
    def in_mutable_sandbox(self) -> ChatTemplate:
        """The same template, in the sandbox that lets it change lists and dictionaries."""
        return replace(self, sandbox=SandboxKind.MUTABLE)

    def _run_within_limits(
        self, work: Callable[[RenderGuard | None], Result], *, compiles: bool = False
    ) -> Result:
        """Render or compile; in a worker, within its limits.

        Raises TemplateRenderError, or TemplateSyntaxError where the work `compiles`.
        """
        guard = current_guard()
        failure: TemplateRenderError | TemplateSyntaxError
        try:
            return work(guard)
        except LimitReached as reached:
            if guard is not None:
                # A tick may have come inside `end` itself, before it stopped the timer that kills.
                guard.end()
            failure = self._limit_error(reached, reached, compiles=compiles)
        except Exception as error:  # noqa: BLE001 - untrusted code raises whatever it likes
            if guard is not None and isinstance(error, MemoryError):
                failure = self._limit_error(guard.memory_reached, error, compiles=compiles)
            else:
                from .compiled_template import render_error, syntax_error

                failure = (
                    syntax_error(error, self.text, self._file)
                    if compiles
                    else render_error(error, self._file)
                )
        # Raised outside of the handler, so that it does not keep the frames of the work alive.
        raise failure

    @property
    def syntax_tree(self) -> nodes.Template:
        """The parsed template, shared with the compiled one: read it, never change it.

        Raises TemplateSyntaxError.
        """
        return self._compiled.tree

    @property
    def code(self) -> CodeType:
        """The compiled template, for environments that differ only in filters or `undefined`.

        Raises TemplateSyntaxError.
        """
        return self._compiled.code

    def check_syntax(self) -> None:
        """Compile now. Raises TemplateSyntaxError if Jinja cannot."""
        _ = self._compiled

    @cached_property
    def _compiled(self) -> CompiledTemplate:
        from .compiled_template import compile_template

        return self._run_within_limits(
            partial(compile_template, self.text, self.sandbox), compiles=True
        )

    def _parsed(self) -> nodes.Template:
        """Parse without generating code. Raises TemplateSyntaxError."""
        from .compiled_template import parse_template

        return parse_template(self.text, self._file)

    @cached_property
    def _marking(self) -> Template:
        from .compiled_template import compile_marked

        # Checks errors and limits, as for traces above.
        self.check_syntax()
        return compile_marked(self.text, self.sandbox)

    def _limit_error(
        self, reached: LimitReached, error: BaseException, *, compiles: bool
    ) -> TemplateLimitError | TemplateSyntaxError:
        limit, hint = reached.limit, raise_limit_hint(reached.limit)
        if compiles:
            words = f"Jinja cannot compile this template: {reached.words}"
            return TemplateSyntaxError(words, file=self._file, limit=limit, hint=hint)
        from .source_text import failure_line

        line = failure_line(error)
        return TemplateLimitError(limit, reached.words, file=self._file, line=line, hint=hint)

    @property
    def _file(self) -> str:
        return self.origin or self.name or "template"

    def __reduce__(self) -> tuple[Callable[..., ChatTemplate], tuple[object, ...]]:
        # Compiled code cannot be pickled; a copy in another process compiles its own.
        special = dict(self.special_tokens)
        given = (self.text, special, self.name, self.origin, self.source, self.sandbox)
        return ChatTemplate, given
