r"""Make the grammar of one request, and write it for the engine that decodes.

    request, format -> make_grammar -> Grammar -> lark | gbnf | structural_tag | accepts | parser

`Grammar` is written when a form of it is requested. Where reasoning is free, the
grammar holds after it: of the rows of a turn that begin in reasoning, the part after its closer
remains:

    REASONING «\n</think>\n\n» CONTENT    is    «\n\n» CONTENT
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar, Unpack, cast

from msgspec import Struct, structs

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json, tool_function
from autoparser.analysis.core.error_words import is_mapping, spelling_hint
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import (
    Formats,
    PromptFormat,
)
from autoparser.analysis.core.schema_keywords import (
    Schema,
    map_schemas,
    with_simple_names,
)
from autoparser.analysis.core.text_alignment import TemplateLiteral as FormatLiteral
from autoparser.analysis.parsing.output_parser import OutputParser, row_after_reasoning
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_nodes import TurnStart, TurnTree
from autoparser.analysis.parsing.turn_request import (
    IdentityCache,
    RequestError,
    RequestOptions,
    read_request,
)
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from autoparser.shown import Shown

from .acceptance import GrammarDialect, TextAcceptance, accept_text, byte_tokens, text_tokens
from .call_triggers import GrammarTrigger, call_triggers
from .call_writer import END_OF_PROMPT, GrammarError
from .continued_turns import turn_after_prompt
from .gbnf_writer import NO_TOKENS, SchemaTable, write_gbnf
from .grammar_rules import GrammarRules
from .lark_writer import LarkGrammar, write_lark
from .schema_loosening import GrammarForm, Loosening, LooseRequest, WrittenGrammar, write_loosened
from .structural_tag import TagElements, TagFormat, write_ebnf, write_structural_tag
from .turn_rules import deciding_parts, rules_of_turns, without_ends

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def turn_after_reasoning(turn: TurnTree) -> tuple[TurnTree, str]:
    """Return the turn that may follow the reasoning's closer, and the closer.

    Raises GrammarError for a turn that the prompt has not left in its reasoning.
    """
    reasoning = turn.reasoning
    if reasoning is None or not (turn.rows_start is TurnStart.REASONING or reasoning.leads):
        raise GrammarError(
            "the model is not reasoning at this point",
            place=END_OF_PROMPT,
            hint="pass a prompt that opens reasoning, or set the switch that opens it",
        )
    close = reasoning.close.core
    rows = [row_after_reasoning(row, close) for row in turn.strict.rows]
    rest = tuple(dict.fromkeys(row for row in rows if row is not None))
    if not rest:
        raise GrammarError(
            "reasoning has no closing marker",
            place=END_OF_PROMPT,
            hint="apply the grammar from the first token",
        )
    return structs.replace(turn, strict=structs.replace(turn.strict, rows=rest, free=None)), close


_ALL_TEXT = OpaqueTokens()
_WRITTEN: IdentityCache[WrittenGrammar[LarkGrammar]] = IdentityCache(32)
"""Grammars of the latest requests: the turns of a conversation offer the same tools."""
_WRITTEN_TAGS: IdentityCache[WrittenGrammar[dict[str, Json]]] = IdentityCache(32)
"""Structural tags of these requests."""


def _opaque_of(tokenizer: Tokenizer | OpaqueTokens | object) -> OpaqueTokens:
    return tokenizer if isinstance(tokenizer, OpaqueTokens) else tokenizer_of(tokenizer).opaque


Text = TypeVar("Text", str, dict[str, Json], LarkGrammar)
_FormKey: TypeAlias = tuple[GrammarForm, tuple[int, ...]]
"""A form, and the ids of the tokens in it."""


@dataclass(frozen=True, repr=False)
class Grammar(Shown):
    """The grammar of the outputs that the template allows for one request.

        grammar = analysis.grammar(tools)
        grammar.gbnf()  # for llama.cpp
        grammar.lark(tokenizer)  # for llguidance
        grammar.accepts("Hello.<|im_end|>").accepted  # True

    A grammar that cannot be written raises GrammarError or SchemaError in these methods.
    """

    shown_as: ClassVar[str] = "grammar"

    turn: TurnTree
    r"""The expression of the turn, from where the prompt ends, e.g. after
    "<|im_start|>assistant\n"."""
    tools: Mapping[str, Json]
    """The parameters' schema by the names of the tools that may be called, e.g. {"get_weather":
    {"type": "object"}}."""
    alternative: TurnTree | None = None
    """The turn with the calls of a learned format, e.g. from `autoparser learn`, which are allowed
    beside the template's."""
    parallel: bool = True
    """Whether more than one call may be written, e.g. False with `parallel_tool_calls=False`."""
    required: bool = False
    """Whether a call has to be written, e.g. True with `tool_choice="required"`."""
    json_schema: Json = None
    """The schema of content, e.g. {"type": "object"}, or None for free text."""
    content_tag: TagFormat | None = None
    """The format of content in a structural tag, e.g. {"type": "regex", "pattern": "[a-z]+"}, in
    the place of the schema."""
    lazy: bool = False
    """Whether it begins only where one of the triggers, e.g. "<tool_call>", was written."""
    loosen: bool | None = False
    """Whether keywords of schemas that cannot be held to, e.g. `uniqueItems`, are left out;
    `loosened` lists them. None applies this to the tools that do not ask to be held `strict`."""
    strict: frozenset[str] = frozenset()
    """The tools that ask for it, e.g. {"get_weather"}."""
    as_written: bool = False
    """Whether a free answer, too, is held to the rows that the template writes, e.g. True for
    `autoparser decode`, which renders each answer again."""
    eos: tuple[str, ...] = ()
    """The tokens that end an answer beside the template's own, such as ``<|call|>``."""

    def __repr__(self) -> str:
        """Return the offered tools and the options, in one line."""
        named = ", ".join(map(repr, self.tools)) or "no tool"
        words = ["a call is required"] * self.required + ["one call"] * (not self.parallel)
        words += ["by a JSON schema"] * (self.json_schema is not None) + ["lazy"] * self.lazy
        return f"<{'; '.join([f'{type(self).__name__} of {named}', *words])}>"

    @property
    def turns(self) -> tuple[TurnTree, ...]:
        """The turn, and its alternative if there is one."""
        return (self.turn,) if self.alternative is None else (self.turn, self.alternative)

    @cached_property
    def _unended(self) -> tuple[TurnTree, ...]:
        # A learned call may be closed by a text that ends the template's turns, such as `<|call|>`.
        ends = [self.eos, (*self.eos, *(end.core for end in self.turn.ends if end.core))]
        return tuple(map(without_ends, self.turns, ends))

    def with_turns(self, turns: Iterable[TurnTree]) -> Grammar:
        """Return the grammar of changed turns, such as their rests after the reasoning."""
        turn, *others = turns
        return replace(self, turn=turn, alternative=others[0] if others else None)

    def after_reasoning(self) -> tuple[Grammar, str]:
        """Return the grammar of the text after the reasoning, and the closing marker of reasoning.

        For a model that reasons without constraints. Raises GrammarError if the prompt does not end
        inside reasoning.
        """
        (turn, close), *others = map(turn_after_reasoning, self.turns)
        return self.with_turns([turn, *(other for other, _ in others)]), close

    def rules(self, opaque: OpaqueTokens | None = None) -> GrammarRules:
        """Return the grammar in no target's syntax; opaque tokens are kept whole.

        Raises GrammarError if the template renders nothing that the request allows, or if the
        grammar is lazy and calls begin like other text; SchemaError for invalid or unenforceable
        schemas.
        """
        return self._rules(self.tools, self.json_schema, opaque or _ALL_TEXT)

    def _rules(
        self,
        tools: Mapping[str, Json],
        json_schema: Json,
        opaque: OpaqueTokens,
        *,
        names_alone: bool = False,
        apart: bool = False,
    ) -> GrammarRules:
        """Return the rules of all turns. Raises if a lazy grammar has no trigger."""
        if self.lazy:
            for turn in self.turns:
                # Raises if no trigger tells calls from text: without one, the grammar would never
                # begin.
                call_triggers(turn.strict, tuple(tools))
        return rules_of_turns(
            self._unended,
            tools,
            parallel=self.parallel,
            json_schema=json_schema,
            lazy=self.lazy,
            free=self._is_free,
            names_alone=names_alone,
            apart=apart,
            opaque=opaque,
        )

    @property
    def _is_free(self) -> bool:
        """Whether nothing is asked of an answer."""
        return not (self.required or self.as_written) and self.json_schema is None

    def lark(self, tokenizer: Tokenizer | OpaqueTokens | object) -> str:
        """Return the grammar in Lark, for llguidance with this tokenizer, or for its opaque tokens.

        `tokenizer` may also be whatever `tokenizer_of` takes. Raises as `rules` and `tokenizer_of`
        do; an error names the tool, the place in its schema, and the keyword.
        """
        return self._lark(_opaque_of(tokenizer)).grammar.text

    def _lark(self, opaque: OpaqueTokens) -> WrittenGrammar[LarkGrammar]:
        # One object for all tokenizers without such tokens, so that they share cached grammars.
        opaque = opaque if opaque.ids else _ALL_TEXT
        return self._written_once(
            ("lark", (*opaque.ids.values(),)), lambda: self._written_lark(opaque)
        )

    def _written_lark(self, opaque: OpaqueTokens) -> WrittenGrammar[LarkGrammar]:
        request = self._request("lark", opaque)
        return _WRITTEN.of(
            (*self._deciding_parts, opaque),
            (*self._asked, self.lazy),
            lambda: write_loosened(
                lambda tools, content: write_lark(
                    self._rules(tools, content, opaque, apart=True), opaque, exact=request.is_exact
                ),
                request,
            ),
        )

    @property
    def _deciding_parts(self) -> tuple[object, ...]:
        """The parts of the turns that decide about a grammar, as owners of a cached one."""
        return tuple(chain.from_iterable(map(deciding_parts, self.turns)))

    @property
    def _asked(self) -> tuple[Hashable, ...]:
        """The choices of a request that every form depends on, as the key of a cached grammar."""
        # By their text: callers pass equal schemas as new objects for each request.
        schemas = repr(self.tools), repr(self.json_schema)
        return (*schemas, self.parallel, self.loosen, self.strict, self.eos, self._is_free)

    def _request(self, form: GrammarForm, *owners: object) -> LooseRequest:
        """Return the schemas to write, and which of them may be written in part."""
        loosen = self.loosen
        return LooseRequest(
            self.tools,
            self.json_schema,
            lambda tool: tool not in {"", *self.strict} if loosen is None else loosen,
            (*(turn.strict.calls or turn for turn in self.turns), *owners),
            form,
        )

    def slices(self, tokenizer: Tokenizer | OpaqueTokens | object) -> tuple[str, ...]:
        """Return slices of the vocabulary that make llguidance's masks of `lark` fast.

        Pass them to `LLTokenizer(…, slices=…)` or its `with_slices`, in an engine with an
        LLTokenizer of its own; `Analysis.backend` uses them already. Empty if llguidance's defaults
        suffice. They depend on the format, not on the tools. Takes and raises the same as `lark`.
        """
        opaque = _opaque_of(tokenizer)
        own = self._lark(opaque).grammar.slices
        # Strict tools have no undeclared names, and others may have no text.
        sampled = dict.fromkeys(tuple(self.tools)[:1], _SAMPLE)
        try:
            other = replace(self, tools=sampled, strict=frozenset())
            return other._lark(opaque).grammar.slices  # noqa: SLF001 - of this class
        except AutoparserError:
            # The calls of this format cannot be written as a grammar for all kinds of arguments.
            return own

    def gbnf(self, tokenizer: Tokenizer | OpaqueTokens | object | None = None) -> str:
        """Return the grammar in GBNF, for llama.cpp. Raises as `lark` does.

        With the model's `tokenizer`, markers with a token of their own are written by id, such as
        `<[151657]>`, so that a model cannot spell them in other tokens; only llama.cpp reads that.
        A lazy grammar begins with free text. Also raises GrammarError and SchemaError for parts
        that GBNF cannot express: without `loosen`, it is never weaker than the schemas.
        """
        return self._gbnf(NO_TOKENS if self.lazy else self._marker_tokens(tokenizer)).grammar

    def _gbnf(self, tokens: OpaqueTokens) -> WrittenGrammar[str]:
        return self._written_once(
            ("gbnf", (*tokens.ids.values(),)),
            lambda: write_loosened(
                lambda tools, content: write_gbnf(
                    self._rules(tools, content, tokens), SchemaTable(), tokens
                ),
                self._request("gbnf"),
            ),
        )

    def ebnf(self) -> str:
        """Return the grammar in xgrammar's EBNF, which it compiles faster than GBNF.

        xgrammar takes a minute for some GBNF. It enforces what `structural_tag` enforces, and
        raises as that does.
        """
        return self._ebnf().grammar

    def _ebnf(self) -> WrittenGrammar[str]:
        request = self._request("ebnf")

        def write(tools: Mapping[str, Json], content: Json) -> str:
            rules = self._rules(tools, content, _ALL_TEXT, names_alone=True)
            return write_ebnf(rules, exact=request.is_exact)

        return self._written_once(("ebnf", ()), lambda: write_loosened(write, request))

    def _written_once(
        self, key: _FormKey, write: Callable[[], WrittenGrammar[Text]]
    ) -> WrittenGrammar[Text]:
        found: WrittenGrammar[Text] | None = self._written.get(key)
        if found is None:
            found = self._written[key] = write()
        return found

    @cached_property
    def _written(self) -> dict[_FormKey, WrittenGrammar[Any]]:
        return {}

    def _marker_tokens(self, tokenizer: Tokenizer | object | None) -> OpaqueTokens:
        """Return the markers that are added tokens of a tokenizer."""
        if tokenizer is None:
            return NO_TOKENS
        if isinstance(tokenizer, OpaqueTokens):
            added = dict(tokenizer.ids)
        else:
            added = {token.text: token.id for token in tokenizer_of(tokenizer).added}
        markers = self.preserved_tokens
        return OpaqueTokens({text: added[text] for text in markers if text in added})

    def loosened(self, form: GrammarForm) -> tuple[Loosening, ...]:
        """Return the schema keywords that this form does not enforce, as it was first written.

        Without a tokenizer, unless it was written. Raises as the form itself does.
        """
        for (written_form, _), written in self._written.items():
            if written_form == form:
                return written.loosened
        if form == "lark":
            return self._lark(_ALL_TEXT).loosened
        if form == "ebnf":
            return self._ebnf().loosened
        return (self._gbnf if form == "gbnf" else self._tag)(NO_TOKENS).loosened

    def accepts(
        self,
        text: str,
        tokenizer: object | None = None,
        *,
        dialect: GrammarDialect | Literal["lark", "gbnf"] = GrammarDialect.LARK,
    ) -> TextAcceptance:
        """Check a text; the result is true if it is accepted, else it has the place of the refusal.

            found = grammar.accepts(text, tokenizer)
            found or found.allowed  # the texts that may come at found.place

        llguidance checks it token by token, or byte by byte for GBNF and without a tokenizer.
        `tokenizer` is whatever `tokenizer_of` takes. Raises as `lark` or `gbnf` does, and
        TokenizerError, and RequestError for another dialect.
        """
        known_dialects = [*GrammarDialect]
        if dialect not in known_dialects:
            raise RequestError(
                f"unknown dialect {dialect!r}",
                place="dialect",
                hint=spelling_hint(str(dialect), known_dialects, "choose from lark, gbnf"),
            )
        dialect, markers = GrammarDialect(dialect), self.preserved_tokens
        if tokenizer is None or dialect is GrammarDialect.GBNF:
            written = self.gbnf() if dialect is GrammarDialect.GBNF else self.lark(_ALL_TEXT)
            return accept_text(written, dialect, byte_tokens(), self.turn, text, markers)
        known = tokenizer_of(tokenizer)
        ends = [stop for stop in self.stop_strings if known.hf.token_to_id(stop) is not None]
        # If the tokenizer names no end token, an answer may end with a stop string that is a token.
        if known.eos is None and ends:
            known = tokenizer_of(known, eos=ends)
        written = self.lark(known.opaque)
        return accept_text(written, dialect, text_tokens(known), self.turn, text, markers)

    def parser(self) -> OutputParser:
        """Return the parser of the same request."""
        offered = frozenset(self.tools)
        turn, *others = (structs.replace(turn, offered=offered) for turn in self.turns)
        return OutputParser(turn, alternative=OutputParser(others[0]) if others else None)

    def structural_tag(
        self, tokenizer: Tokenizer | OpaqueTokens | object | None = None
    ) -> dict[str, Json]:
        """Return the grammar as xgrammar's structural tag: an object with `type` and `format`.

        With the model's `tokenizer`, markers with a token of their own are `token` elements, so
        that a model cannot spell them in other tokens; the cache of xgrammar before 0.2.9 confuses
        tags that differ only in them. Raises GrammarError if there are no calls, or for arguments
        that a tag cannot express; TokenizerError.
        """
        # Callers may change theirs.
        return deepcopy(self._tag(self._marker_tokens(tokenizer)).grammar)

    def _tag(self, tokens: OpaqueTokens) -> WrittenGrammar[dict[str, Json]]:
        return self._written_once(
            ("structural_tag", (*tokens.ids.values(),)), lambda: self._written_tag(tokens)
        )

    def _written_tag(self, tokens: OpaqueTokens) -> WrittenGrammar[dict[str, Json]]:
        request = self._request("structural_tag")
        elements = TagElements(tokens, exact=request.is_exact)
        return _WRITTEN_TAGS.of(
            self._deciding_parts,
            (*self._asked, self.required, repr(self.content_tag), *tokens.ids.items()),
            lambda: write_loosened(
                lambda tools, json_schema: write_structural_tag(
                    self._unended,
                    tools,
                    [*map(self._triggers_of, self.turns)],
                    parallel=self.parallel,
                    required=self.required,
                    json_schema=json_schema,
                    content=self.content_tag,
                    elements=elements,
                    free=self._is_free,
                ),
                request,
            ),
        )

    def _triggers_of(self, turn: TurnTree) -> tuple[GrammarTrigger, ...]:
        try:
            return call_triggers(turn.strict, tuple(self.tools))
        except GrammarError:
            return ()

    @cached_property
    def server_triggers(self) -> tuple[GrammarTrigger, ...]:
        """The beginnings of calls and of nothing else, in the forms that a server looks for.

        None if there are no calls, or if nothing tells them from other text: then a lazy
        grammar cannot be written, and says why.
        """
        found = [*map(self._triggers_of, self.turns)]
        # If one format has no trigger, its calls would be missed.
        return tuple(dict.fromkeys(chain.from_iterable(found))) if all(found) else ()

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The texts of which one begins the calls of an answer: where a lazy grammar begins.

        Where an id that differs from call to call stands before all that tells a call, only a
        pattern does: `server_triggers` has it.
        """
        return tuple(
            dict.fromkeys(trigger.text for trigger in self.server_triggers if trigger.text)
        )

    @cached_property
    def stop_strings(self) -> tuple[str, ...]:
        """The texts that end a turn, and stand nowhere within one.

        Such as ``<|return|>`` and ``<|call|>``, where ``<|end|>`` closes the reasoning and an
        earlier turn: to stop there would cut the answer.
        """
        within = self._frame()
        return tuple(end for end in self._ends if not any(end in text for text in within))

    @property
    def _ends(self) -> tuple[str, ...]:
        ends = (end.core for turn in self.turns for end in turn.ends)
        return tuple(dict.fromkeys(filter(None, ends)))

    @cached_property
    def preserved_tokens(self) -> tuple[str, ...]:
        """The markers that a tokenizer must not drop when it decodes."""
        markers = (marker for text in self._literals() for marker in FormatLiteral.of(text).markers)
        return tuple(dict.fromkeys(markers))

    def _frame(self) -> list[str]:
        """Return the texts around the parts of a turn, without its end."""
        rows = (row for turn in self.turns for row in turn.strict.rows)
        texts = [item for row in rows for item in row.items if isinstance(item, str)]
        reasoning = self.turn.reasoning
        # If the prompt has opened the reasoning, no row has the opening marker.
        return texts if reasoning is None else [*texts, reasoning.open.core, reasoning.close.core]

    def _literals(self) -> Iterator[str]:
        """Return the texts of which markers are read: of the rows, the calls, and their values."""
        yield from self._frame()
        for turn in self.turns:
            blocks = (turn.reasoning, turn.content)
            yield from _texts_in((*blocks, turn.strict.calls, turn.header.text))
        yield from self._ends


def _texts_in(value: object) -> Iterator[str]:
    """Return all texts within a value, such as a notation's quotes."""
    # Before the texts, since members of a StrEnum are texts to Python, but not the template's.
    if isinstance(value, RowSlot | StrEnum):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Struct):
        yield from _texts_in([getattr(value, name) for name in value.__struct_fields__])
    elif is_mapping(value):
        yield from _texts_in([*value.values()])
    elif isinstance(value, Sequence | frozenset):
        for item in cast("Iterable[object]", value):
            yield from _texts_in(item)


# From a request in OpenAI's terms to its grammar.


def make_grammar(
    formats: Formats,
    tools: Sequence[object] | None = None,
    *,
    begun: PromptFormat | None = None,
    strict: bool | None = None,
    lazy: bool = False,
    loosen: bool | None = None,
    **options: Unpack[RequestOptions],
) -> Grammar:
    """Make the grammar of a request; `begun` is what its prompt belongs to, where that is known.

    `tools` and `tool_choice` are OpenAI's; without tools nothing is called. With `strict`, the
    objects of every tool have no members but those that they name, as for a tool that says
    ``"strict": true`` itself; with False, arguments are any object, but for such tools. A `lazy`
    grammar begins with the calls. What schemas say and a grammar cannot hold is left out of it,
    unless the tool is strict; with `loosen` everywhere, with False nowhere. Raises RequestError
    where the request contradicts itself.
    """
    json_schema = options.get("json_schema")
    request = read_request(tools or [], begun_turn=begun, **options)
    offered = request.tools or {}
    if request.required and not offered:
        raise RequestError("a call is required, and no tool is offered", hint="offer tools")
    if request.required and json_schema is not None:
        raise RequestError(
            "a call is required, and json_schema asks for content",
            hint="pass only one of tool_choice and json_schema",
        )
    # The tools that say `"strict": true` themselves.
    marked = {
        function["name"]: function.get("strict") is True
        for function in map(tool_function, tools or ())
    }
    return Grammar(
        turn_after_prompt(build_expression(formats, request)),
        {name: _bound_schema(schema, strict, marked[name]) for name, schema in offered.items()},
        parallel=request.parallel,
        required=request.required,
        json_schema=with_simple_names(dict(json_schema)) if json_schema is not None else None,
        lazy=lazy,
        loosen=loosen,
        strict=frozenset(name for name in offered if strict or marked[name]),
    )


def format_slices(formats: Formats, opaque: OpaqueTokens) -> tuple[str, ...]:
    """Return the slices of any request to a format (see `Grammar.slices`), by one tool's."""
    for tools in ([{"name": "f", "parameters": _SAMPLE}], []):
        try:
            return make_grammar(formats, tools).slices(opaque)
        except AutoparserError:
            # The calls of this format cannot be written as a grammar; its content still can.
            continue
    return ()


_TEXT: dict[str, Json] = {"type": "string"}
_SAMPLE: Json = {
    "type": "object",
    "properties": {
        "text": _TEXT,
        "bounded": {**_TEXT, "maxLength": 9},
        "texts": {"type": "array", "items": _TEXT},
        "object": {"type": "object", "properties": {"text": _TEXT}},
    },
    # Where names are tags, others are allowed only if a schema states it.
    "additionalProperties": True,
}


def _bound_schema(schema: Json, strict: bool | None, marked: bool) -> Json:
    """Return the schema that a tool's arguments are held to."""
    if strict or marked:
        return with_simple_names(map_schemas(schema, _close_object))
    return {"type": "object"} if strict is False else with_simple_names(schema)


def _close_object(schema: Schema) -> Schema:
    """Close an object that names its members and does not say that it may have others."""
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema
