"""Provide the format of a server's model: learned once per process, used by every request.

    served_template (environment, command line, tokenizer)  ->  learn_served  ->  ServedSource
    served_format (tokenizer)  ->  ServedFormat
    served_request (an engine's request)  ->  ServedRequest  ->  its parser, its structural tag

Both engines' plugins use it; requests share one `ServedFormat`.

For example, a request of Responses with the tool `{"type": "function", "name": "f", …}`, the choice
`"required"` and the form `{"type": "json_object"}`:

    served_request(request)
    ->  ServedRequest(tools=({"type": "function", "function": {"name": "f", …}},),
                      tool_choice="required", json_schema={"type": "object"})
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from time import time
from typing import TYPE_CHECKING, Any, Literal, cast
from weakref import WeakKeyDictionary

import msgspec

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json, tool_function
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNotFoundError,
)
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.core.verdicts import Gate
from autoparser.analysis.formats.format_file import file_read, file_text
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat, load_format, saved_format
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.schema_loosening import log_loosening
from autoparser.analysis.parsing.output_parser import (
    OutputParser,
    after_reasoning,
    at_any_start,
)
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage, Status
from autoparser.analysis.parsing.stream_parser import StreamParser
from autoparser.analysis.parsing.turn_nodes import TurnStart, TurnTree
from autoparser.analysis.sources.local_files import (
    HOME,
    cached_file,
    files_below,
)
from autoparser.analysis.sources.template_loading import (
    held_special_tokens,
    is_template_text,
    load_template,
)
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from autoparser.analysis.sources.written_files import cache_file, open_lock

if TYPE_CHECKING:
    from autoparser.analysis.analysis import Analysis
    from autoparser.analysis.parsing.turn_request import ReadingChoices
    from autoparser.analysis.templates.chat_template import ChatTemplate


_LOG = logging.getLogger(__name__)

TEMPLATE_VARIABLE = "AUTOPARSER_TEMPLATE"
"""Variable that names the template, as `load_template` takes it; it has precedence."""

CHOICES = {
    "AUTOPARSER_FORGIVE": "forgive",
    "AUTOPARSER_MARKUP": "markup",
    "AUTOPARSER_UNCLOSED_REASONING": "unclosed_reasoning",
}
"""The variables that set an option of all parsers of a server."""

OPTION = "--chat-template"
"""The option of both engines for a template; their other processes have it, too."""


def served_template(tokenizer: object) -> ChatTemplate:
    """Return the template of the environment, the command line, or the tokenizer.

    Special tokens are the tokenizer's if the source of the template has none.
    Raises TemplateNotFoundError if none has one, and as `load_template` does.
    """
    # Lazy: a process without requests, or one that reads a shared format, needs no renderer.
    from autoparser.analysis.templates.chat_template import ChatTemplate  # noqa: PLC0415

    known = held_special_tokens(tokenizer)
    named = os.environ.get(TEMPLATE_VARIABLE)
    given = named or _option(sys.argv)
    if given:
        # Both engines take a template itself for this option; the variable always names a source.
        if not named and is_template_text(given):
            return ChatTemplate(given, known)
        found = load_template(given)
        return replace(found, special_tokens={**known, **found.special_tokens})
    held = _default_template(tokenizer)
    if isinstance(held, str) and held:
        return ChatTemplate(held, known)
    raise TemplateNotFoundError(
        "the server's tokenizer has no chat template",
        hint=f"start the server with {OPTION} file, or name one by {TEMPLATE_VARIABLE}",
    )


def _option(arguments: Sequence[str]) -> str | None:
    """Return the option's value; the last one counts, as for the engines."""
    found = None
    for at, argument in enumerate(arguments):
        if argument.startswith(f"{OPTION}="):
            found = argument.partition("=")[2]
        elif argument == OPTION and at + 1 < len(arguments):
            found = arguments[at + 1]
    return found


# The processes of a server share the analysis: its front end, its core and its workers each load
# the plugin. The first process that needs the format learns it in an isolated worker and writes it
# to a file, named by a hash of the template and of the engine's version; the others wait for it.


def analyze_isolated(template: ChatTemplate) -> Analysis:
    """Analyze in a worker process, since the template may be a stranger's."""
    from autoparser.analysis.analysis import analyze  # noqa: PLC0415 - as above

    return analyze(template, isolate=True)


CACHE_VARIABLE = "AUTOPARSER_CACHE"
"""Variable that names the folder of shared analyses; empty to share none."""

UNUSED = 30 * 24 * 3600.0
"""Seconds after which a shared analysis is removed when another one is written."""


@dataclass(frozen=True, repr=False)
class SharedFormat(SavedFormat):
    """An analysis by another process; further settings are learned here."""

    source: ChatTemplate
    """The template, e.g. `<ChatTemplate of a text: 57 lines>`, for settings that the other process
    did not learn."""

    @cached_property
    def _analysis(self) -> Analysis:
        return analyze_isolated(self.source)

    @property
    def gate(self) -> Gate:
        """The gate, which the shared file does not hold."""
        return self._analysis.gate

    def _learn(self, setting: Mapping[str, Json], *, tools: bool) -> PromptFormat:
        return self._analysis.under(setting, tools=tools)


_NO_GATE = Gate(asked=0, passed=0, not_asked=0, faults=())


def _cache_folder() -> Path | None:
    named = os.environ.get(CACHE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return Path(home) / "autoparser" / "served"


def _engine_stamp() -> str | None:
    """Return a text that changes with the files of the engine or of what renders.

    The times of its files do, on one machine; to read all of them takes as long as some analyses.
    None if they cannot be seen, as in an archive.
    """
    try:
        files = [(path, Path(path).stat()) for path in sorted(files_below(HOME))]
    except OSError:  # another version is being installed
        return None
    stamps = [(path, found.st_mtime_ns, found.st_size) for path, found in files]
    return repr((sys.version, version("jinja2"), stamps)) if stamps else None


@lru_cache(maxsize=4)
def learn_shared(template: ChatTemplate) -> LearnedFormat:
    """Return the analysis of a template, possibly made by another process.

    Raises AutoparserError as `analyze` does; a cache that cannot be used is none.
    """
    folder, stamp = _cache_folder(), _engine_stamp()
    if folder is None or stamp is None:
        return analyze_isolated(template)
    # All that an analysis depends on, besides the engine's version.
    parts = (template.text, sorted(template.special_tokens.items()), template.sandbox)
    text = f"{stamp} {parts!r}"
    # Templates may contain surrogates, which UTF-8 cannot encode.
    name = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    file = folder / f"{name}.json"
    # A server starts several processes at once: the others read the format that one has learned.
    with _alone(file.with_suffix(".lock")):
        return _read_shared(file, template) or _learn_and_share(file, template)


def _read_shared(file: Path, template: ChatTemplate) -> LearnedFormat | None:
    content = cached_file(file)
    if content is None:
        return None
    try:
        found = saved_format(file_read(content, str(file)), str(file))
    except AutoparserError:  # truncated, or another kind of file: write it again
        return None
    return SharedFormat(
        **{member.name: getattr(found, member.name) for member in fields(found)},
        source=template,
    )


def _learn_and_share(file: Path, template: ChatTemplate) -> LearnedFormat:
    found = analyze_isolated(template)
    # Parsing does not need the gate, and running it takes as long as the analysis.
    cache_file(file, file_text(found.to_file(gate=_NO_GATE)).encode("ascii"))
    with suppress(OSError):
        for old in file.parent.iterdir():
            if time() - old.stat().st_mtime > UNUSED:
                old.unlink()
    return found


@contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Let one process at a time learn; without locks, each of them learns and writes."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where no engine runs

        lock.parent.mkdir(parents=True, exist_ok=True)
        stream = open_lock(lock)
    except (ImportError, OSError):
        yield
        return
    with stream:
        with suppress(OSError):  # of file systems without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


FORMAT_VARIABLE = "AUTOPARSER_FORMAT"
"""Variable that names a saved format; then no template is read or rendered."""


@cache
def tells_tokens_apart() -> bool:
    """Return whether the installed xgrammar tells grammars apart that differ in a token's id.

    The cache of 0.2.7 and 0.2.8 gives the masks of the first one for the second; that of 0.2.9 does
    not.
    """
    try:
        xgrammar: Any = import_module("xgrammar")
    except ImportError:
        return False
    raw = xgrammar.VocabType.RAW
    known = xgrammar.TokenizerInfo(["a", "b", "c"], vocab_type=raw, stop_token_ids=[2])
    compiler, mask = xgrammar.GrammarCompiler(known), xgrammar.allocate_token_bitmask(1, 3)
    allowed: list[int] = []
    for number in (0, 1):
        matcher = xgrammar.GrammarMatcher(compiler.compile_grammar(f"root ::= Token({number})"))
        matcher.fill_next_token_bitmask(mask)
        allowed.append(int(mask[0][0]))
    return allowed[0] != allowed[1]


_loaded = lru_cache(maxsize=4)(load_format)


@dataclass
class ServedSource:
    """The format of a server, and its source, which may change while the server runs."""

    learned: LearnedFormat
    """The format, e.g. `<Analysis of a text: self-check 47/47, 1 format>`."""
    held: object = None
    """The tokenizer's own template, e.g. `"{%- if messages[0].role == 'system' %}…"`, if that was
    learned."""
    file: Path | None = None
    """The file that was read instead, e.g. `model.format.json`."""
    stamp: tuple[int, int] | None = field(init=False)
    """Modification time in nanoseconds and size, e.g. `(1796004307085847497, 15188)`, which show
    that the file has changed."""

    def __post_init__(self) -> None:
        """Store the present state of the file."""
        self.stamp = self._file_stamp()

    def _file_stamp(self) -> tuple[int, int] | None:
        try:
            found = None if self.file is None else self.file.stat()
        except (OSError, ValueError):  # not a file name: a model's name, or the template itself
            return None
        return None if found is None else (found.st_mtime_ns, found.st_size)

    def has_other_template(self, tokenizer: object) -> bool:
        """Return whether the learned template of the tokenizer has been replaced.

        A copy of the tokenizer without any has none that an engine would render by.
        """
        held = _default_template(tokenizer)
        return self.file is None and bool(held) and held != self.held

    def tell_of_changes(self) -> None:
        """Log once that the file has changed; the plugin, like the engine, keeps its content."""
        stamp = self._file_stamp()
        if stamp != self.stamp:
            self.stamp = stamp
            _LOG.warning(
                "%s has changed since the server read it: answers are parsed with the version read"
                " at start, until the server is restarted",
                self.file,
            )


def _default_template(tokenizer: object) -> object:
    held: object = getattr(tokenizer, "chat_template", None)
    return held.get("default") if is_mapping(held) else held


def learn_served(tokenizer: object) -> ServedSource:
    """Learn the template of a server, or load what `FORMAT_VARIABLE` names.

    Raises AutoparserError if the template is not found or cannot be analyzed.
    """
    # A saved format needs no template, so it has precedence.
    file = os.environ.get(FORMAT_VARIABLE)
    if file:
        return ServedSource(_loaded(file), file=Path(file))
    template = served_template(tokenizer)
    named = os.environ.get(TEMPLATE_VARIABLE) or _option(sys.argv)
    if named:
        return ServedSource(learn_shared(template), file=Path(named))
    return ServedSource(learn_shared(template), held=_default_template(tokenizer))


@dataclass(frozen=True)
class ServedRequest:
    """The parts of a request that determine how its answer is written and read."""

    tools: tuple[Mapping[str, object], ...] = ()
    """The tools in the form of Chat Completions, e.g. `{"type": "function", "function": {…}}`."""
    tool_choice: object = "auto"
    """`"auto"`, `"none"`, `"required"`, or an object that names a tool."""
    parallel: bool = True
    """Whether one answer may have several calls, unless `parallel_tool_calls` is false."""
    json_schema: Mapping[str, object] | None = None
    """The schema of the content, e.g. `{"type": "object"}`."""
    content_tag: dict[str, Json] | None = None
    """Another form of the content, as a part of a structural tag: `{"type": "regex", …}`."""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    """The request's `chat_template_kwargs`; the format uses those that are its switches."""

    @property
    def forced(self) -> bool:
        """Whether a call is required."""
        return bool(self.tools) and self.tool_choice not in ("auto", "none")

    @property
    def content(self) -> Mapping[str, object] | None:
        """The schema of the content, or None for free text."""
        # Any JSON: the content's own tag takes the place of the schema.
        return {} if self.json_schema is None and self.content_tag is not None else self.json_schema

    @property
    def strict(self) -> bool:
        """Whether the arguments of an optional call are constrained to a schema."""
        marked = any(tool_function(tool).get("strict") is True for tool in self.tools)
        return self.tool_choice == "auto" and marked


def served_request(
    request: object,
    *,
    tools: Sequence[object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> ServedRequest:
    """Read a request of Chat Completions or Responses; `tools` replace its own if given."""
    if getattr(request, "chat_template", None):
        _tell_of_own_template()
    offered: Any = getattr(request, "tools", None) if tools is None else tools
    choice = _plain_value(getattr(request, "tool_choice", None))
    plain = tuple(map(_tool, offered or ()))
    return ServedRequest(
        tools=plain,
        # Without tools, a tool choice has no meaning.
        tool_choice="none" if not plain else choice or "auto",
        parallel=getattr(request, "parallel_tool_calls", None) is not False,
        json_schema=_answer_schema(_plain_value(getattr(request, "response_format", None))),
        settings=settings or {},
    )


@cache
def _tell_of_own_template() -> None:
    _LOG.warning(
        "a request has its own chat template, but its answer is parsed by the format of the"
        " server's template"
    )


def _plain_value(value: Any) -> object:
    if isinstance(value, msgspec.Struct):
        # SGLang's native endpoints use these types; `to_builtins` would drop their names.
        return {
            name: _plain_value(member) for name, member in msgspec.structs.asdict(value).items()
        }
    # Other endpoints use pydantic models.
    return value.model_dump(by_alias=True) if hasattr(value, "model_dump") else value


def _tool(tool: object) -> Mapping[str, object]:
    """Return a tool in the form of Chat Completions; Responses have no `function` around it."""
    plain: Any = _plain_value(tool)
    function = plain.get("function")
    if not is_mapping(function):
        function = {name: value for name, value in plain.items() if name != "type"}
    kept = {name: value for name, value in function.items() if value is not None}
    return {"type": "function", "function": kept}


def _answer_schema(form: object) -> Mapping[str, object] | None:
    if not is_mapping(form):
        return None
    if form.get("type") == "json_object":
        return {"type": "object"}
    if form.get("type") != "json_schema":
        return None
    held = form.get("json_schema")
    described = held if is_mapping(held) else form
    # SGLang's own model of a request has the schema under the first name.
    schema = described.get("json_schema", described.get("schema"))
    return schema if is_mapping(schema) else None


_TAIL = 2048
"""Number of tokens at the end of a prompt that are read: the begun turn and text before it."""

ReasoningPlace = Literal["separate", "raw"]

GrammarStart = Literal["the prompt's end", "after the reasoning", "anywhere"]
"""Where an engine begins to hold an answer to a grammar: after the prompt; after reasoning that the
prompt has opened; or at either place, unknown which."""


@dataclass(frozen=True, eq=False)
class ServedFormat:
    """A format and its tokenizer; shared by all requests of a server."""

    learned: LearnedFormat
    """The format of every setting of the template, e.g.
    `<SavedFormat of a text: self-check 47/47, 1 format>`."""
    tokenizer: ModelTokenizer
    """The tokenizer of the server, for markers by id, e.g. 256 for `<|im_start|>`, and texts of
    ids."""
    choices: Mapping[str, str] = field(
        default_factory=lambda: {
            option: os.environ[name] for name, option in CHOICES.items() if os.environ.get(name)
        }
    )
    """Options of all parsers, from the environment: `{"forgive": "exact"}`."""

    def parser(
        self,
        request: ServedRequest,
        *,
        prompt: Sequence[int] | str | None = None,
        reasoning: ReasoningPlace = "separate",
        reasoning_over: bool = False,
        with_ids: bool = False,
    ) -> OutputParser:
        """Make the parser of a request; `prompt` is its token ids, or its end, if they are known.

        Settings of the request count if they are switches of the template. With `with_ids` the
        texts are fed with their ids. Raises AutoparserError for invalid tools.
        """
        text = prompt if prompt is None or isinstance(prompt, str) else self.tail_text(prompt)

        def parser_with(settings: Mapping[str, object] | None) -> OutputParser:
            return self.learned.parser(
                request.tools,
                prompt=text,
                chat_template_kwargs=settings,
                tool_choice=request.tool_choice,
                parallel_tool_calls=request.parallel,
                json_schema=request.json_schema,
                reasoning=reasoning,
                reasoning_over=reasoning_over,
                tokenizer=self.tokenizer if with_ids else None,
                **cast("ReadingChoices", self.choices),
            )

        settings = self._switches_in(request)
        if settings is None:
            return parser_with(None)
        try:
            return parser_with(settings)
        except AutoparserError:
            if text is None:
                raise
            # The template raises for the value, or it was not learned: the prompt decides.
            return parser_with(None)

    @property
    def reasoning_markers(self) -> tuple[str, str]:
        """The texts that open and close reasoning, or empty ones."""
        reasoning = self.learned.format.reasoning
        return ("", "") if reasoning is None else (reasoning.open.core, reasoning.close.core)

    def settings_that_open(self, *, reasoning: bool) -> list[Mapping[str, object]]:
        """Return the settings whose prompt opens reasoning, or does not; nothing set is first.

        Those whose prompt has closed it are last: after the others a model may open it itself.
        """
        found = [
            opening
            for opening in self.learned.formats.openings
            if (opening.written is PromptProgress.REASONING_OPEN) is reasoning
        ]
        found.sort(key=lambda opening: opening.written is PromptProgress.REASONING_CLOSED)
        return [opening.setting for opening in found]

    @cached_property
    def caller(self) -> OutputParser:
        """The parser of any call after the reasoning."""
        return self.learned.parser(reasoning_over=True, **cast("ReadingChoices", self.choices))

    def tag(
        self, request: ServedRequest, start: GrammarStart, *, with_ids: bool = False
    ) -> dict[str, Json] | None:
        """Return the structural tag that constrains an answer, or None if none does.

        Calls are constrained if one is required, named, or strict, and content if JSON or another
        form is asked for. Parts of the schemas of non-strict tools that a tag cannot express are
        left out and logged. Markers are tokens if one is required, or the answer is read
        `with_ids`. Raises AutoparserError if no tag can be written.
        """
        if not (request.forced or request.strict or request.content is not None):
            return None
        settings = self._switches_in(request)
        # The engine masks end tokens inside a tag, so the grammar must not require them.
        eos = tuple(self.text([end]) for end in sorted(self._ends))
        made = self._grammar(request, settings)
        grammar = replace(made, content_tag=request.content_tag, eos=eos)
        if start == "after the reasoning" and prompt_opens_reasoning(grammar.turn):
            grammar = grammar.with_turns(map(after_reasoning, grammar.turns))
        elif start == "anywhere":
            # Reversed: of several settings with the same prompt, the first one stays.
            openings = {
                opening.text: opening.setting for opening in self.learned.formats.openings[::-1]
            }
            # The grammar itself has the empty setting.
            others = filter(None, openings.values())
            every = [grammar.turns, *(self._grammar(request, setting).turns for setting in others)]
            grammar = grammar.with_turns(map(at_any_start, zip(*every, strict=True)))
        by_token = (with_ids or request.forced) and tells_tokens_apart()
        tag = grammar.structural_tag(self.tokenizer if by_token else None)
        log_loosening(grammar.loosened("structural_tag"))
        return tag

    def _grammar(self, request: ServedRequest, settings: Mapping[str, object] | None) -> Grammar:
        return self.learned.grammar(
            request.tools,
            chat_template_kwargs=settings,
            tool_choice=request.tool_choice,
            parallel_tool_calls=request.parallel,
            # A required call leaves no room for content.
            json_schema=None if request.forced else request.content,
            # Engines ignore schema keywords that they cannot express, so do not refuse them here.
            loosen=None if request.content is None or request.strict else True,
        )

    def cut_message(self, parser: OutputParser, text: str) -> ParsedMessage | None:
        """Return the message of a text that was cut, or None if it is complete.

        For an engine that passes neither ids nor a reason. A text that ends in a call before what
        closes it was cut by a limit, as far as the text alone can say: a call that is mended then
        would be carried out with half of its arguments.
        """
        message = parser.parse(text, complete=False)
        attempts = message.attempts
        if not attempts or attempts[-1].status is not Status.CUT:
            return None
        # A closing marker after the beginning of the call shows that the call itself is whole.
        rest = text[attempts[-1].start :]
        return None if any(closer in rest for closer in self._call_closers) else message

    @cached_property
    def _call_closers(self) -> frozenset[str]:
        calls = self.learned.format.calls
        if calls is None:
            return frozenset()
        *before, last = (piece for piece in calls.row if not isinstance(piece, RowSlot))
        opening, closing = (calls.section_open, *before), (last, calls.section_close)
        openers, closers = (
            {marker for text in texts for marker in TemplateLiteral.of(text).markers}
            for texts in (opening, closing)
        )
        # A marker that also opens calls says nothing about the end of one.
        return frozenset(closers - openers)

    def complete(self, ids: Sequence[int]) -> bool:
        """Return whether an output is complete, by its last token.

        Without ids it is taken for complete.
        """
        return not ids or ids[-1] in self._ends

    @cached_property
    def _ends(self) -> frozenset[int]:
        hf = self.tokenizer.hf
        stops = [hf.token_to_id(text) for text in self.learned.format.stop_strings]
        named = self.tokenizer.eos
        ends = named if isinstance(named, Sequence) and not isinstance(named, str) else [named]
        numbers = [hf.token_to_id(end) if isinstance(end, str) else end for end in ends]
        return frozenset(number for number in (*stops, *numbers) if number is not None)

    def tail_text(self, prompt: Sequence[int]) -> str:
        """Return the text of a prompt's last tokens."""
        return self.text(prompt[-_TAIL:])

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with special tokens."""
        return b"".join(map(self.tokenizer.piece, ids)).decode(errors="replace")

    def _switches_in(self, request: ServedRequest) -> dict[str, object] | None:
        names = {switch.name for switch in self.learned.switches}
        found = {name: value for name, value in request.settings.items() if name in names}
        return found or None


def prompt_opens_reasoning(turn: TurnTree) -> bool:
    """Return whether the prompt has opened reasoning that the model continues."""
    return turn.start is TurnStart.REASONING


def reasoning_deltas(
    stream: StreamParser, deltas: Sequence[Delta]
) -> tuple[list[Delta], int | None]:
    """Return the deltas of reasoning, and the offset of its end in the text, or None before it.

    The end is 0 in an answer without reasoning.
    """
    thought = [delta for delta in deltas if delta.kind is DeltaKind.REASONING]
    # Other deltas show that the answer has begun without reasoning.
    others = any(delta.kind not in (DeltaKind.REASONING, DeltaKind.FINISH) for delta in deltas)
    return thought, 0 if stream.reasoning_end is None and others else stream.reasoning_end


_learning = Lock()


def served_format(tokenizer: object) -> ServedFormat:
    """Return the format of a server's model, for all requests of a process.

    It is learned as `learn_served` says, and anew once the tokenizer has another template: engines
    render by that. Raises AutoparserError if the template is not found or cannot be analyzed, or if
    the tokenizer is not a fast one.
    """
    known = tokenizer_of(tokenizer)
    # Concurrent requests wait while the first one learns.
    with _learning:
        found, source = _formats.get(known, (None, None))
        if found is None or source is None or source.has_other_template(tokenizer):
            source = learn_served(tokenizer)
            found = ServedFormat(source.learned, known)
            _formats[known] = found, source
        source.tell_of_changes()
        return found


_formats: WeakKeyDictionary[ModelTokenizer, tuple[ServedFormat, ServedSource]] = WeakKeyDictionary()
"""Formats by tokenizer, and where they are from; engines may have several copies of one."""
