"""Compile a template so that its render is traced; see `render_trace.py`.

Jinja compiles a template to a generator in Python. Here each test, loop, assignment and text of it
passes through a method of `TraceRecorder`, and each name inside them, so that nothing is computed
twice and nothing that the template itself leaves out is computed at all.

For example, `{% if m.role == 'a' %}…` is compiled to (`environment.getattr` shortened)

    if autoparser_recorder.note_test(
        autoparser_recorder.enter(0),
        (autoparser_recorder.note_name(0, getattr(l_0_m, 'role')) == 'a'),
    ):

where the first 0 is the place and the second one the name, `m.role`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import CodeType
from typing import Any, cast

from jinja2 import Template, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.sandbox import SandboxedEnvironment
from msgspec import Struct

from autoparser.analysis.core.errors import TemplateRenderError

from .environment import chat_environment
from .render_trace import OpenSite, RenderTrace, StepKind, TemplateSite
from .sandbox_kind import SandboxKind
from .source_text import NEWLINE, template_tokens
from .trace_recorder import FoundSite, TraceRecorder, found_sites, placed_sites


def seen_parts(node: nodes.Node) -> Iterator[tuple[nodes.Expr, str]]:
    """Yield the names, attributes and compared values of an expression, with their spelling.

    For example `m.role`, `ms|length` and `ms` of `m.role == 'a' and ms|length > 2`. What is called
    is not among them, but what it is called on.
    """
    match node:
        case nodes.Name(ctx="load"):
            yield node, node.name
        case nodes.Getattr() | nodes.Getitem() if _is_chain(node):
            yield node, spell_expression(node)
            if isinstance(node, nodes.Getitem):
                yield from seen_parts(node.arg)
        case nodes.Call(node=nodes.Getattr(node=owner)):
            yield from seen_parts(owner)
            yield from _argument_parts(node)
        case nodes.Call(node=nodes.Name()):
            yield from _argument_parts(node)
        case nodes.Compare():
            for side in (node.expr, *(operand.expr for operand in node.ops)):
                if isinstance(side, nodes.Call | nodes.Filter):
                    yield side, spell_expression(side)
                yield from seen_parts(side)
        case _:
            for child in node.iter_child_nodes():
                yield from seen_parts(child)


def _argument_parts(call: nodes.Call) -> Iterator[tuple[nodes.Expr, str]]:
    for child in call.iter_child_nodes(exclude=("node",)):
        yield from seen_parts(child)


def _is_chain(node: nodes.Node) -> bool:
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return isinstance(node, nodes.Name)


def spell_expression(node: nodes.Node | None) -> str:
    """Return an expression as a template could spell it, `…` for what would be long."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Const():
            return repr(node.value)
        case nodes.Getattr():
            return f"{spell_expression(node.node)}.{node.attr}"
        case nodes.Getitem():
            return f"{spell_expression(node.node)}[{spell_expression(node.arg)}]"
        case nodes.Slice():
            ends = (node.start, node.stop)
            return ":".join("" if end is None else spell_expression(end) for end in ends)
        case nodes.Neg():
            return f"-{spell_expression(node.node)}"
        case nodes.Add() | nodes.Sub():
            return f"{spell_expression(node.left)} {node.operator} {spell_expression(node.right)}"
        case nodes.Filter():
            return f"{spell_expression(node.node)}|{node.name}{'(…)' if node.args else ''}"
        case nodes.Call():
            return f"{spell_expression(node.node)}({'…' if node.args or node.kwargs else ''})"
        case _:
            return "…"


RECORDER = "autoparser_recorder"
"""The recorder's name in the compiled code; Jinja prefixes all names of a template."""


class TraceableTemplate(Struct, frozen=True):
    """The compiled code, and the places and names that its numbers refer to."""

    text: str
    r"""The source with normalized line ends, as offsets count it, e.g. `"{% for m in messages
    %}\n…"`."""
    environment: SandboxedEnvironment
    """The environment that the code is run in, e.g. one with the immutable sandbox."""
    code: CodeType
    """The compiled template, with calls of the recorder, e.g. `<code object <module>, file
    "<template>">`."""
    sites: tuple[TemplateSite, ...]
    """The places by their numbers in the code, e.g. the loop, then `{{ m.role }}` in it."""
    names: tuple[str, ...]
    """The names by their numbers in the code, e.g. `("m.role", "ms|length")`."""


class _RecorderCalls(Struct, frozen=True):
    """Calls that are written around expressions, by the identity of the expression."""

    before: Mapping[int, str]
    """The beginning of the calls, e.g. `"autoparser_recorder.note_name(0, "`."""
    writes: Mapping[int, int]
    """The index of the place, for an expression that writes, e.g. `{140706237737424: 1}`."""


class _RecordingGenerator(CodeGenerator):
    """Generates code with calls of the recorder."""

    def __init__(self, calls: _RecorderCalls, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._calls = calls
        self._writing = 0
        self._buffer: str | None = None

    def visit(self, node: nodes.Node, *arguments: Any, **keywords: Any) -> Any:
        """Generate a node inside the calls of the recorder."""
        before = self._calls.before.get(id(node), "")
        if before:
            self.write(before)
        result = super().visit(node, *arguments, **keywords)
        if before:
            # `enter(…)` has closed its own bracket; close the others here.
            self.write(")" * (before.count("(") - before.count(")")))
        return result

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        """Generate its texts and expressions one by one."""
        # Jinja writes neighboring texts as one, which would have one place for several.
        for child in node.nodes:
            self._writing, self._buffer = self._calls.writes[id(child)], frame.buffer
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)

    def _output_const_repr(self, group: Any) -> str:
        text = super()._output_const_repr(group)
        return f"{RECORDER}.note_text({self._writing}, {text}, {self._buffer})"

    def _output_child_pre(self, node: Any, frame: Any, finalize: Any) -> None:
        number = self._writing
        self.write(f"{RECORDER}.note_expression({RECORDER}.enter({number}), ")
        super()._output_child_pre(node, frame, finalize)

    def _output_child_post(self, node: Any, frame: Any, finalize: Any) -> None:
        super()._output_child_post(node, frame, finalize)
        self.write(f", {frame.buffer})")

    def start_write(self, frame: Frame, node: nodes.Node | None = None) -> None:
        """Begin the output of a block's text: of a call, a filter, or a recursive loop."""
        super().start_write(frame, node)
        self.write(f"{RECORDER}.note_output(")

    def end_write(self, frame: Frame) -> None:
        """End the output."""
        self.write(f", {frame.buffer})")
        super().end_write(frame)


def compile_traced(text: str, sandbox: SandboxKind) -> TraceableTemplate:
    """Compile a template for traces. Raises what Jinja raises."""
    text = NEWLINE.sub("\n", text)
    # A copy, since another generator of code is set in it below.
    environment: SandboxedEnvironment = chat_environment(sandbox).overlay()
    tree = environment.parse(text)
    found = found_sites(tree)
    sites = placed_sites(text, template_tokens(text), found)
    names: list[str] = []
    calls = _recorder_calls(found, names)
    generator = partial(_RecordingGenerator, calls)
    environment.code_generator_class = cast("type[CodeGenerator]", generator)
    return TraceableTemplate(text, environment, environment.compile(tree), sites, tuple(names))


def _recorder_calls(sites: tuple[FoundSite, ...], names: list[str]) -> _RecorderCalls:
    before: dict[int, str] = {}
    writes: dict[int, int] = {}
    for number, site in enumerate(sites):
        about: nodes.Node | None = site.node
        match site.node:
            case nodes.For() as loop:
                about = loop.iter
                _add(before, about, "note_loop", number)
                # A pass has no expression that a call could be put around, so the body begins with
                # a new one: the variables of the loop, as a statement that writes nothing.
                marker = _load_expression(loop.target)
                before[id(marker)] = f"{RECORDER}.note_pass({number}, "
                loop.body.insert(0, nodes.ExprStmt(marker, lineno=loop.lineno))
            case nodes.Assign() as assignment:
                about = assignment.node
                _add(before, about, "note_assignment", number)
            case nodes.AssignBlock():
                about = None
            case _ if site.kind is StepKind.TEST:
                _add(before, site.node, "note_test", number)
            case _:
                writes[id(site.node)] = number
        for part, name in () if about is None else seen_parts(about):
            # An existing call for the site encloses the new one for the name.
            before[id(part)] = f"{before.get(id(part), '')}{RECORDER}.note_name({len(names)}, "
            names.append(name)
    return _RecorderCalls(before, writes)


def _add(before: dict[int, str], node: nodes.Node, method: str, number: int) -> None:
    inner = before.get(id(node), "")
    before[id(node)] = f"{RECORDER}.{method}({RECORDER}.enter({number}), {inner}"


def _load_expression(target: nodes.Node) -> nodes.Expr:
    """Return a loop's variables as an expression."""
    match target:
        case nodes.Name():
            return nodes.Name(target.name, "load", lineno=target.lineno)
        case nodes.Tuple():
            return nodes.Tuple([_load_expression(item) for item in target.items], "load")
        case _:
            return nodes.Const(None)


def render_traced(
    traceable: TraceableTemplate,
    variables: dict[str, object],
    render: Callable[[Callable[[], Any]], object],
    most_steps: int,
    *,
    in_full: bool = False,
) -> RenderTrace:
    """Render, and return the trace; with no steps allowed, only the origin of the text.

    `render` gets what starts the render, and takes its pieces; what it raises as a
    TemplateRenderError is the end of the trace.
    """
    recorder = TraceRecorder(traceable.names, most_steps, in_full=in_full)
    environment: SandboxedEnvironment = traceable.environment.overlay()
    # Compiled code takes `environment.concat` to join the pieces of a macro or a block. Another
    # render may run with its own recorder, so this is a copy of the environment, too.
    environment.__dict__["concat"] = recorder.concat
    template = Template.from_code(environment, traceable.code, dict(environment.globals))
    compiled = template.root_render_func
    compiled.__globals__[RECORDER] = recorder
    failure: TemplateRenderError | None = None
    try:
        render(lambda: compiled(template.new_context(variables)))
    except TemplateRenderError as error:
        failure = error
    return RenderTrace(
        traceable.text,
        traceable.sites,
        tuple(recorder.pieces),
        tuple(recorder.steps),
        recorder.left_out,
        failure,
        ()
        if failure is None
        else recorder.ended_in or _failed_loop(traceable, recorder, failure.line),
    )


def _failed_loop(
    traceable: TraceableTemplate, recorder: TraceRecorder, line: int | None
) -> tuple[OpenSite, ...]:
    """Return the loop that failed before it came to its body, as one over none does."""
    last = recorder.steps[-1] if recorder.steps else None
    if last is None or last.kind is not StepKind.LOOP or traceable.sites[last.site].line != line:
        return ()
    return (OpenSite(last.site, last.seen),)
