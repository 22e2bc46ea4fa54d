"""The grammar of one request, to be written for the engine that decodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Literal as FormatLiteral, Slot
from autoparser.analysis.loading.tokens import OpaqueTokens, tokenizer_of
from autoparser.analysis.reading.expression import IdentityCache, Turn
from autoparser.analysis.reading.parsing import OutputParser
from autoparser.shown import Shown

from .acceptance import Acceptance, GrammarDialect, accepted, byte_tokens, tokens_of
from .after_reasoning import after_reasoning
from .call_writer import GrammarError
from .gbnf import write_gbnf
from .gbnf_table import SchemaTable
from .lark import LarkGrammar, write_lark
from .loosening import GrammarForm, Loosening, LooseRequest, WrittenGrammar, written_grammar
from .rules import GrammarRules
from .structural_tag import write_structural_tag
from .triggers import GrammarTrigger, triggers_of
from .turn_rules import parts_of, rules_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer


_ALL_TEXT = OpaqueTokens()
_WRITTEN: IdentityCache[WrittenGrammar[LarkGrammar]] = IdentityCache(32)
"""Grammars of the latest requests: the turns of a conversation offer the same tools."""


def _opaque_of(tokenizer: Tokenizer | OpaqueTokens | object) -> OpaqueTokens:
    return tokenizer if isinstance(tokenizer, OpaqueTokens) else tokenizer_of(tokenizer).opaque


@dataclass(frozen=True, repr=False)
class Grammar(Shown):
    """What a model may write for one request: no more than the template would write."""

    shown_as: ClassVar[str] = "grammar"

    turn: Turn
    tools: Mapping[str, Json]
    """The parameters' schema by the names of the tools that may be called."""
    parallel: bool = True
    required: bool = False
    """Whether a call has to be written."""
    json_schema: Json = None
    """What content has to be; None: free text."""
    lazy: bool = False
    """Whether it begins only where one of the triggers was written."""
    loosen: bool | None = False
    """Whether keywords of schemas that cannot be held to are left out; `loosened` lists them.
    None: of those tools that do not ask to be held `strict`."""
    strict: frozenset[str] = frozenset()
    """The tools that ask for it."""

    def __repr__(self) -> str:
        """Return what may be called, in one line."""
        named = ", ".join(map(repr, self.tools)) or "no tool"
        words = ["a call is required"] * self.required + ["one call"] * (not self.parallel)
        words += ["by a JSON schema"] * (self.json_schema is not None) + ["lazy"] * self.lazy
        return f"<{'; '.join([f'{type(self).__name__} of {named}', *words])}>"

    def after_reasoning(self) -> tuple[Grammar, str]:
        """Return the grammar of what follows the reasoning, and the text that closes that.

        For a model that thinks freely. Raises GrammarError where the prompt does not leave it in
        its reasoning.
        """
        turn, close = after_reasoning(self.turn)
        return replace(self, turn=turn), close

    def rules(self, opaque: OpaqueTokens | None = None) -> GrammarRules:
        """Return the grammar before any target's syntax; it cuts no opaque token.

        Raises GrammarError where the template writes nothing that the request asks for, and
        SchemaError for schemas that cannot be read or held to. So it does where it is lazy, and
        nothing tells calls from other text.
        """
        return self._rules(self.tools, self.json_schema, opaque or _ALL_TEXT)

    def _rules(
        self, tools: Mapping[str, Json], json_schema: Json, opaque: OpaqueTokens
    ) -> GrammarRules:
        if self.lazy:
            triggers_of(self.turn.strict, tuple(tools))
        return rules_of(
            self.turn,
            tools,
            parallel=self.parallel,
            json_schema=json_schema,
            lazy=self.lazy,
            opaque=opaque,
        )

    def lark(self, tokenizer: Tokenizer | OpaqueTokens | object) -> str:
        """Write it as Lark for llguidance, made for this tokenizer, or for its opaque tokens.

        `tokenizer` is else all that `tokenizer_of` takes; raises as that and as `rules` does. An
        error names the tool, the place in its schema, and the keyword.
        """
        return self._lark(_opaque_of(tokenizer)).written.text

    def _lark(self, opaque: OpaqueTokens) -> WrittenGrammar[LarkGrammar]:
        return self._lark_for(opaque) if opaque.ids else self._lark_of_text

    @cached_property
    def _lark_of_text(self) -> WrittenGrammar[LarkGrammar]:
        return self._lark_for(_ALL_TEXT)

    def _lark_for(self, opaque: OpaqueTokens) -> WrittenGrammar[LarkGrammar]:
        choices = (self.parallel, self.lazy, self.loosen, self.strict)
        return _WRITTEN.of(
            (*parts_of(self.turn), opaque),
            (repr(self.tools), repr(self.json_schema), *choices),
            lambda: written_grammar(
                lambda tools, content: write_lark(self._rules(tools, content, opaque), opaque),
                self._request("lark", opaque),
            ),
        )

    def _request(self, form: GrammarForm, *owners: object) -> LooseRequest:
        """Return the schemas to write, and which of them may be written in part."""
        loosen = self.loosen
        return LooseRequest(
            self.tools,
            self.json_schema,
            lambda tool: tool not in {"", *self.strict} if loosen is None else loosen,
            (self.turn.strict.calls or self.turn, *owners),
            form,
        )

    def slices(self, tokenizer: Tokenizer | OpaqueTokens | object) -> tuple[str, ...]:
        """Return the slices of the vocabulary with which llguidance's masks of `lark` are quick.

        They are for `LLTokenizer(…, slices=…)` or its `with_slices`, in an engine that has its own;
        `Analysis.backend` uses them by itself. None of them: the usual ones are right. They are
        those of the format: other tools change nothing. Takes and raises the same as `lark`.
        """
        return self._lark(_opaque_of(tokenizer)).written.slices

    def gbnf(self) -> str:
        """Write it in GBNF, as llama.cpp takes it; raises as `lark` does.

        Raises GrammarError and SchemaError also for what GBNF cannot say: without `loosen`, it is
        never weaker than the schemas.
        """
        return self._gbnf.written

    @cached_property
    def _gbnf(self) -> WrittenGrammar[str]:
        return written_grammar(
            lambda tools, content: write_gbnf(
                self._rules(tools, content, _ALL_TEXT), SchemaTable()
            ),
            self._request("gbnf"),
        )

    def loosened(self, form: GrammarForm) -> tuple[Loosening, ...]:
        """Return the keywords that this form of the grammar is not held to.

        Raises as the form itself does.
        """
        match form:
            case "gbnf":
                return self._gbnf.loosened
            case "lark":
                return self._lark(_ALL_TEXT).loosened
            case "structural_tag":
                return self._tag.loosened

    def accepts(
        self,
        text: str,
        tokenizer: object | None = None,
        *,
        dialect: GrammarDialect = GrammarDialect.LARK,
    ) -> Acceptance:
        """Say whether a text is accepted, and else where, and what was allowed there.

        llguidance judges, token by token; without a tokenizer, and for GBNF, byte by byte.
        `tokenizer` is all that `tokenizer_of` takes. Raises as `lark` or `gbnf` does, and
        TokenizerError.
        """
        markers = self.preserved_tokens
        if tokenizer is None or dialect is GrammarDialect.GBNF:
            written = self.gbnf() if dialect is GrammarDialect.GBNF else self.lark(_ALL_TEXT)
            return accepted(written, dialect, byte_tokens(), self.turn, text, markers)
        known = tokenizer_of(tokenizer)
        ends = [stop for stop in self.stop_strings if known.hf.token_to_id(stop) is not None]
        if known.eos is None and ends:
            known = tokenizer_of(known, eos=ends)
        written = self.lark(known.opaque)
        return accepted(written, dialect, tokens_of(known), self.turn, text, markers)

    def parser(self) -> OutputParser:
        """Return the parser of the same request."""
        return OutputParser(self.turn, offered=frozenset(self.tools))

    def structural_tag(self) -> dict[str, Json]:
        """Write it as a structural tag: `type`, and a `format` as xgrammar documents them.

        Raises GrammarError where there are no calls, and for arguments that no tag can say.
        """
        return self._tag.written

    @cached_property
    def _tag(self) -> WrittenGrammar[dict[str, Json]]:
        return written_grammar(
            lambda tools, content: write_structural_tag(
                self.turn,
                tools,
                self.server_triggers,
                parallel=self.parallel,
                required=self.required,
                json_schema=content,
            ),
            self._request("structural_tag"),
        )

    @cached_property
    def server_triggers(self) -> tuple[GrammarTrigger, ...]:
        """What begins calls and nothing else, in the forms that a server looks for.

        None where there are no calls, or where nothing tells them from other text: then a lazy
        grammar cannot be written, and says why.
        """
        try:
            return triggers_of(self.turn.strict, tuple(self.tools))
        except GrammarError:
            return ()

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The texts of which one begins the calls of an answer: where a lazy grammar begins.

        Where an id that differs from call to call stands before all that tells a call, only a
        pattern does: `server_triggers` has it.
        """
        return tuple(dict.fromkeys(each.text for each in self.server_triggers if each.text))

    @cached_property
    def stop_strings(self) -> tuple[str, ...]:
        """The texts that end a turn."""
        return tuple(dict.fromkeys(end.core for end in self.turn.ends if end.core))

    @cached_property
    def preserved_tokens(self) -> tuple[str, ...]:
        """The markers that a tokenizer must not drop when it decodes."""
        markers = (marker for text in self._literals() for marker in FormatLiteral.of(text).markers)
        return tuple(dict.fromkeys(markers))

    def _literals(self) -> list[str]:
        texts = [
            item for row in self.turn.strict.rows for item in row.items if isinstance(item, str)
        ]
        reasoning = self.turn.reasoning
        if reasoning is not None:
            texts += [reasoning.open.core, reasoning.close.core]
        calls = self.turn.strict.calls
        if calls is not None:
            row = [piece for piece in calls.row if not isinstance(piece, Slot)]
            texts += [calls.section_open, *row, calls.separator, calls.section_close]
        return [*texts, *self.stop_strings]
