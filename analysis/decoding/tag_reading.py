"""Read a structural tag's JSON, in either shape, as a grammar; errors name the place in it.

    JSON -> _TagReader -> Ways (TagGrammar) -> GrammarRules -> text for llguidance

Two shapes are read: SGLang's ``{"structures": [{"begin", "schema", "end"}], "triggers": [...]}``,
and ``{"type": "structural_tag", "format": {...}}`` with the formats that xgrammar documents
(0.2.8, ``xgrammar.structural_tag``). A format that llguidance cannot express is refused by name.

For example, with a tokenizer that has one token that is not text, 257, the format

    {"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}

becomes the grammar

    start: "<a>" (TEXT_0 <[257]>)* text_0
    text_0[lazy]: TEXT_0 "</a>"
    TEXT_0: /(?s:.*)/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from llguidance import regex_to_lark

from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
    is_row,
    value_kind,
)
from autoparser.analysis.grammar.grammar_rules import (
    NOTHING,
    EmbeddedLark,
    FreeProse,
    GrammarRules,
    JsonValue,
    LiteralNode,
    Node,
    PatternNode,
    RepeatNode,
    RuleReference,
    choice_node,
    sequence_node,
)
from autoparser.analysis.grammar.lark_writer import write_embedding
from autoparser.analysis.grammar.rule_paths import Path, join_path
from autoparser.analysis.grammar.rule_table import RuleTable
from autoparser.analysis.sources.tokenizer import ModelTokenizer

from .constraints import (
    ConstraintError,
    Whitespace,
    lark_grammar,
    schema_from_json,
    with_whitespace,
)

# A structural tag as nodes of a grammar: free text up to its close, and bound parts.
#
# A part is read into `Ways`: a function from the ways to go on after it to the ways to write it and
# go on. So the close of free text is known where the free text is written, and adjacent fixed texts
# are one text, as an added token may lie across their border. Take any text and then `</a>`:
# `free(())(fixed(("</a>",))(end))` is the one path `(FreeProse(), "</a>")`.


MOST_PATHS = 64
"""Maximum number of ways to go on that are kept apart; more of them become a rule."""


@dataclass(frozen=True, slots=True)
class TagContinuation:
    """The ways to go on after a part."""

    paths: Sequence[Path] = ((),)
    """A row of nodes for each way; `[()]` for nothing more."""
    last: bool = False
    """Whether the answer ends after them, as after the last part of a tag."""

    @property
    def nothing(self) -> bool:
        """Whether the answer ends here."""
        return self.last and list(self.paths) == [()]

    @property
    def closes(self) -> tuple[str, ...]:
        """The fixed texts that come next; empty if the answer ends or fits no free text.

        Raises ``ConstraintError`` if something else may come as well.
        """
        texts = tuple(path[0] for path in self.paths if path and isinstance(path[0], str))
        # Free text ends where its close comes, so every way to go on needs one.
        if texts and len(texts) < len(self.paths):
            raise ConstraintError(
                "free text and a regex need a non-empty end", place="structural_tag"
            )
        return texts


Ways: TypeAlias = Callable[[TagContinuation], list[Path]]


@dataclass(frozen=True, slots=True)
class TriggerArm:
    """The parts that are bound once ``trigger`` was written in free text."""

    trigger: str
    """The text that begins its tags, e.g. "<tool_call>"."""
    tags: tuple[tuple[str, Ways], ...]
    """The texts that may continue the trigger, each with the trigger itself before it, e.g.
    `<function=look>` for `<function=`, and the part that follows each."""


class TagGrammar:
    """Makes the parts of one grammar, for one tokenizer."""

    def __init__(self, tokenizer: ModelTokenizer) -> None:
        self.tokenizer = tokenizer
        self._table = RuleTable(tokenizer.opaque)
        self._dispatches = 0

    def rules(self, whole: Ways) -> GrammarRules:
        """Return the grammar of a whole answer. Raises ``ConstraintError``."""
        return GrammarRules(
            self._branch(whole(TagContinuation(last=True))), self._table.rules_by_name
        )

    def _branch(self, paths: Sequence[Path]) -> Node:
        return self._table.brancher.branch(paths)

    def fixed(self, options: Sequence[str]) -> Ways:
        """Write one of some texts; an empty one may be among them."""
        return lambda behind: [
            join_path(option, *path) for option in options for path in self._few(behind.paths)
        ]

    def _few(self, paths: Sequence[Path]) -> Sequence[Path]:
        # Each option is combined with each path; a rule stands for all paths at once.
        return paths if len(paths) <= MOST_PATHS else [(self._branch(paths),)]

    def bound(self, node: Node) -> Ways:
        """Write a node of a grammar."""
        return lambda behind: [join_path(node, *path) for path in behind.paths]

    def matching(self, regex: str) -> Ways:
        """Write a match of a regex, up to the first fixed text that may follow, if any."""
        pattern = regex_to_lark(regex, use_ascii="")

        def ways(behind: TagContinuation) -> list[Path]:
            free = FreeProse(may_be_empty=True, shapes=(pattern,))
            # With a close, the match ends at its first occurrence; without one, the regex decides.
            node = free if behind.closes else PatternNode(pattern)
            return [join_path(node, *path) for path in behind.paths]

        return ways

    def free(self, excludes: Sequence[str]) -> Ways:
        """Write any text without ``excludes``, up to the fixed text that follows, if any."""
        return lambda behind: [
            join_path(self._prose(behind, (), excludes), *path) for path in behind.paths
        ]

    def row(self, parts: Sequence[Ways]) -> Ways:
        """Write parts one after another."""

        def ways(behind: TagContinuation) -> list[Path]:
            paths = behind.paths
            # From the end, since each part has to know what follows it.
            for part in reversed(parts):
                paths = part(TagContinuation(paths, behind.last))
            return list(paths)

        return ways

    def one_of(self, parts: Sequence[Ways]) -> Ways:
        """Write one of some parts."""

        def ways(behind: TagContinuation) -> list[Path]:
            # Only without a continuation may a part be free text: a node does not know its end.
            if behind.nothing:
                return [path for part in parts for path in part(behind)]
            node = choice_node(*(self._branch(part(TagContinuation())) for part in parts))
            return self.bound(node)(behind)

        return ways

    def repeated(
        self, part: Ways, least: int, most: int | None, separator: str | None = None
    ) -> Ways:
        """Repeat a part; with a separator the minimum is 0 or 1."""

        def ways(behind: TagContinuation) -> list[Path]:
            # A part that may be repeated does not end the answer.
            node = self._branch(part(TagContinuation(last=most == 1 and behind.nothing)))
            if separator is None:
                return self.bound(RepeatNode(node, least, most))(behind)
            more = NOTHING if most == 1 else RepeatNode(sequence_node(LiteralNode(separator), node))
            row = sequence_node(node, more)
            return self.bound(row if least else RepeatNode(row, 0, 1))(behind)

        return ways

    def dispatch(
        self,
        arms: Iterable[TriggerArm],
        *,
        excludes: Sequence[str] = (),
        starts_with_arm: bool = False,
        once: bool = False,
    ) -> Ways:
        """Write free text in which triggers lead into arms.

        ``starts_with_arm``: an arm comes first, before any free text. ``once``: after the first arm
        only the text after the whole may follow.
        """
        cut: dict[str, list[tuple[str, Ways]]] = {}
        for arm in arms:
            # Two rules may have the same trigger: either may follow it.
            for trigger, tags in self._cut_at_tokens(arm).items():
                cut.setdefault(trigger, []).extend(tags)

        def ways(behind: TagContinuation) -> list[Path]:
            prose = self._prose(behind, tuple(cut), excludes)
            rest = [join_path(prose, *path) for path in behind.paths]
            if once:
                led = self._arms(cut, behind)
                return (
                    led if starts_with_arm else [*(join_path(prose, *path) for path in led), *rest]
                )
            # A rule of its own for each, since two may have equal triggers and other continuations.
            self._dispatches += 1
            key = f"dispatch {self._dispatches}"

            def loop_node() -> Node:
                led = self._arms(cut, TagContinuation([(loop_rule(),)]))
                return self._branch([*(join_path(prose, *path) for path in led), *rest])

            def loop_rule() -> RuleReference:
                return self._table.rule(key, "text", loop_node)

            loop = loop_rule()
            return self._arms(cut, TagContinuation([(loop,)])) if starts_with_arm else [(loop,)]

        return ways

    def _arms(self, cut: dict[str, list[tuple[str, Ways]]], behind: TagContinuation) -> list[Path]:
        """Return the ways through the arms: after its trigger each is one bound node."""
        return [
            (
                trigger,
                self._branch(
                    [join_path(rest, *path) for rest, body in tags for path in body(behind)]
                ),
            )
            for trigger, tags in cut.items()
        ]

    def _cut_at_tokens(self, arm: TriggerArm) -> dict[str, list[tuple[str, Ways]]]:
        """Extend a trigger that ends inside an opaque token of a begin to the end of that token.

        The model writes the whole token; its first characters alone never come.
        """
        cut: dict[str, list[tuple[str, Ways]]] = {}
        for begin, body in arm.tags:
            length = 0
            for piece in self.tokenizer.opaque.pieces(begin):
                size = len(self.tokenizer.opaque.texts[piece] if isinstance(piece, int) else piece)
                if length + size >= len(arm.trigger):
                    whole = isinstance(piece, int)
                    length = length + size if whole else len(arm.trigger)
                    break
                length += size
            cut.setdefault(begin[:length], []).append((begin[length:], body))
        return cut

    def _prose(
        self, behind: TagContinuation, triggers: Sequence[str], excludes: Sequence[str]
    ) -> FreeProse:
        """Return free text without the tokens that end it, lead out of it or are excluded."""
        closes = behind.closes
        if not closes and not behind.nothing:
            raise ConstraintError(
                "free text must be last, or followed by fixed text",
                place="structural_tag",
                hint="wrap it in a tag with an end",
            )
        pieces = {text: self.tokenizer.opaque.pieces(text) for text in excludes}
        for text, cut in pieces.items():
            # A grammar can exclude one token or one text, not their sequence.
            if len(cut) > 1:
                raise ConstraintError(
                    f"{text!r} cannot be excluded: it holds a token among other text",
                    place="structural_tag",
                )
        fixed = (*closes, *triggers, *excludes)
        reserved = {piece for text in fixed for piece in self.tokenizer.opaque.pieces(text)}
        kept = (
            token.id
            for token in self.tokenizer.added
            if token.opaque and not token.special and token.id not in self.tokenizer.eos_ids
        )
        tokens = tuple(token for token in kept if token not in reserved)
        return FreeProse(tuple(excludes), may_be_empty=True, tokens=tokens)


_WITHOUT_MEANING: dict[str, object] = {"style": "json", "any_order": False, "excludes": []}
"""Members of a ``json_schema`` format whose value does not change what ``%json`` takes."""


def structural_grammar(
    tag: Mapping[str, Any], whitespace: Whitespace, tokenizer: ModelTokenizer
) -> str:
    """Write a structural tag as a grammar that llguidance takes.

    Raises ``ConstraintError`` with the place in the tag.
    """
    made = TagGrammar(tokenizer)
    rules = made.rules(_TagReader(whitespace, made).whole(tag))
    return write_embedding(rules, tokenizer.opaque)


class _TagReader:
    def __init__(self, whitespace: Whitespace, tag_grammar: TagGrammar) -> None:
        self.whitespace: Whitespace = whitespace
        self.tag_grammar = tag_grammar

    def whole(self, tag: Mapping[str, Any]) -> Ways:
        if "structures" in tag or "triggers" in tag:
            return self.legacy(tag)
        if "format" not in tag:
            raise ConstraintError(
                "a structural tag needs structures and triggers, or a format",
                place="structural_tag",
            )
        return self.part(tag["format"], "format")

    def legacy(self, tag: Mapping[str, Any]) -> Ways:
        # SGLang's form, in which each tag holds one schema.
        triggers = _texts_at(_field_at(tag, "triggers", ""), "triggers")
        tags: list[tuple[str, Ways]] = []
        for number, given in enumerate(_list_at(_field_at(tag, "structures", ""), "structures")):
            place = f"structures[{number}]"
            structure = _object_at(given, place)
            schema = self.schema(_field_at(structure, "schema", place), f"{place}.schema")
            end = _text_at(_field_at(structure, "end", place), f"{place}.end")
            begin = _text_at(_field_at(structure, "begin", place), f"{place}.begin")
            tags.append((begin, self.tag_grammar.row((schema, self.tag_grammar.fixed((end,))))))
        return self.tag_grammar.dispatch(_arms(triggers, tags, "structures"))

    def part(self, value: object, place: str) -> Ways:
        form = _object_at(value, place)
        kind = _field_at(form, "type", place)
        readers: dict[str, Callable[[Mapping[str, Any], str], Ways]] = {
            "const_string": self.constant,
            "token": self.constant,
            "json_schema": self.json,
            "regex": self.pattern,
            "grammar": self.grammar,
            "any_text": self.free,
            "sequence": self.elements,
            "or": self.elements,
            "tag": self.whole_tag,
            "optional": self.repeat,
            "plus": self.repeat,
            "star": self.repeat,
            "repeat": self.repeat,
            "triggered_tags": self.triggered,
            "token_triggered_tags": self.triggered,
            "dispatch": self.dispatch,
            "token_dispatch": self.dispatch,
            "tags_with_separator": self.separated,
        }
        if not isinstance(kind, str) or kind not in readers:
            raise ConstraintError(
                f"the format {kind!r} is not supported",
                place=f"{place}.type",
                hint="write it as a regex, a grammar or a json_schema",
            )
        return readers[kind](form, place)

    def constant(self, form: Mapping[str, Any], place: str) -> Ways:
        if form["type"] == "token":
            return self.tag_grammar.fixed(
                (self.token(_field_at(form, "token", place), f"{place}.token"),)
            )
        return self.tag_grammar.fixed(
            (_text_at(_field_at(form, "value", place), f"{place}.value"),)
        )

    def json(self, form: Mapping[str, Any], place: str) -> Ways:
        _plain_only(form, place)
        return self.schema(_field_at(form, "json_schema", place), f"{place}.json_schema")

    def pattern(self, form: Mapping[str, Any], place: str) -> Ways:
        return self.tag_grammar.matching(
            _text_at(_field_at(form, "pattern", place), f"{place}.pattern")
        )

    def grammar(self, form: Mapping[str, Any], place: str) -> Ways:
        text = _text_at(_field_at(form, "grammar", place), f"{place}.grammar")
        return self.tag_grammar.bound(
            EmbeddedLark(lark_grammar(text, self.tag_grammar.tokenizer.opaque))
        )

    def free(self, form: Mapping[str, Any], place: str) -> Ways:
        # A grammar counts neither tokens nor characters of free text.
        _absent(form, ("max_tokens", "max_chars"), place)
        return self.tag_grammar.free(_texts_at(form.get("excludes", []), f"{place}.excludes"))

    def elements(self, form: Mapping[str, Any], place: str) -> Ways:
        where = f"{place}.elements"
        parts = tuple(
            self.part(element, f"{where}[{number}]")
            for number, element in enumerate(_list_at(_field_at(form, "elements", place), where))
        )
        if not parts:
            raise ConstraintError("missing elements", place=where)
        return (self.tag_grammar.row if form["type"] == "sequence" else self.tag_grammar.one_of)(
            parts
        )

    def whole_tag(self, form: Mapping[str, Any], place: str) -> Ways:
        begin, body = self.tag(form, place)
        return self.tag_grammar.row((self.tag_grammar.fixed((begin,)), body))

    def schema(self, value: object, place: str) -> Ways:
        schema = with_whitespace(schema_from_json(value, place), self.whitespace)
        return self.tag_grammar.bound(JsonValue(schema, style=None))

    def token(self, value: object, place: str) -> str:
        """Return the text of a token, identified by its text or its id."""
        for token in self.tag_grammar.tokenizer.added:
            # A tag names either; an id is never equal to a text.
            if value in (token.id, token.text):
                return token.text
        raise ConstraintError(f"{value!r} is not an added token of the tokenizer", place=place)

    def text_or_token(self, value: object, place: str) -> str:
        if is_mapping(value):
            return self.token(_field_at(value, "token", place), f"{place}.token")
        return _text_at(value, place)

    def tag(self, value: object, place: str) -> tuple[str, Ways]:
        """Read a tag: its begin, its content, and its end."""
        form = _object_at(value, place)
        begin = self.text_or_token(_field_at(form, "begin", place), f"{place}.begin")
        content = self.part(_field_at(form, "content", place), f"{place}.content")
        ends = _field_at(form, "end", place)
        listed = ends if is_list(ends) else [ends]
        texts = tuple(self.text_or_token(end, f"{place}.end") for end in listed)
        if not texts:
            raise ConstraintError("missing end", place=f"{place}.end")
        return begin, self.tag_grammar.row((content, self.tag_grammar.fixed(texts)))

    def tags(self, form: Mapping[str, Any], place: str) -> list[tuple[str, Ways]]:
        given = _list_at(_field_at(form, "tags", place), f"{place}.tags")
        return [self.tag(tag, f"{place}.tags[{number}]") for number, tag in enumerate(given)]

    def repeat(self, form: Mapping[str, Any], place: str) -> Ways:
        part = self.part(_field_at(form, "content", place), f"{place}.content")
        match form["type"]:
            case "optional":
                return self.tag_grammar.repeated(part, 0, 1)
            case "plus":
                return self.tag_grammar.repeated(part, 1, None)
            case "star":
                return self.tag_grammar.repeated(part, 0, None)
            case _:
                least, most = _field_at(form, "min", place), _field_at(form, "max", place)
                if not isinstance(least, int) or not isinstance(most, int) or least < 0:
                    raise ConstraintError(
                        "min must be a non-negative integer, and max an integer", place=place
                    )
                if -1 < most < least:
                    raise ConstraintError("max is less than min", place=place)
                # -1 stands for no maximum.
                return self.tag_grammar.repeated(part, least, most if most >= 0 else None)

    def triggered(self, form: Mapping[str, Any], place: str) -> Ways:
        if form["type"] == "triggered_tags":
            triggers = _texts_at(_field_at(form, "triggers", place), f"{place}.triggers")
        else:
            given = _list_at(_field_at(form, "trigger_tokens", place), f"{place}.trigger_tokens")
            triggers = tuple(self.token(token, f"{place}.trigger_tokens") for token in given)
        return self.tag_grammar.dispatch(
            _arms(triggers, self.tags(form, place), f"{place}.tags"),
            starts_with_arm=bool(form.get("at_least_one", False)),
            once=bool(form.get("stop_after_first", False)),
            excludes=self.excludes(form, place),
        )

    def dispatch(self, form: Mapping[str, Any], place: str) -> Ways:
        arms: list[TriggerArm] = []
        for number, given in enumerate(_list_at(_field_at(form, "rules", place), f"{place}.rules")):
            where = f"{place}.rules[{number}]"
            rule = _list_at(given, where)
            if len(rule) != 2:  # noqa: PLR2004 - a pair
                raise ConstraintError("a rule needs a pattern and a format", place=where)
            is_text = form["type"] == "dispatch"
            trigger = _text_at(rule[0], where) if is_text else self.token(rule[0], where)
            arms.append(TriggerArm(trigger, ((trigger, self.part(rule[1], f"{where}[1]")),)))
        if not arms:
            raise ConstraintError("missing rules", place=f"{place}.rules")
        once = not form.get("loop", True)
        return self.tag_grammar.dispatch(arms, excludes=self.excludes(form, place), once=once)

    def excludes(self, form: Mapping[str, Any], place: str) -> tuple[str, ...]:
        tokens = _list_at(form.get("exclude_tokens", []), f"{place}.exclude_tokens")
        return (
            *_texts_at(form.get("excludes", []), f"{place}.excludes"),
            *(self.token(token, f"{place}.exclude_tokens") for token in tokens),
        )

    def separated(self, form: Mapping[str, Any], place: str) -> Ways:
        tags = [
            self.tag_grammar.row((self.tag_grammar.fixed((begin,)), body))
            for begin, body in self.tags(form, place)
        ]
        separator = _text_at(_field_at(form, "separator", place), f"{place}.separator")
        return self.tag_grammar.repeated(
            self.tag_grammar.one_of(tags),
            1 if form.get("at_least_one", False) else 0,
            1 if form.get("stop_after_first", False) else None,
            separator,
        )


def _arms(
    triggers: tuple[str, ...], tags: list[tuple[str, Ways]], place: str
) -> tuple[TriggerArm, ...]:
    """Assign the tags to their triggers: each begins with exactly one."""
    members: dict[str, list[tuple[str, Ways]]] = {trigger: [] for trigger in triggers}
    for number, (begin, body) in enumerate(tags):
        fitting = [trigger for trigger in triggers if trigger and begin.startswith(trigger)]
        # With two fitting triggers, the same text would lead into two rules.
        if len(fitting) != 1:
            which = " and ".join(repr(trigger) for trigger in fitting) or "none of the triggers"
            raise ConstraintError(
                f"{begin!r} begins with {which}",
                place=f"{place}[{number}].begin",
                hint="each tag begins with exactly one trigger",
            )
        members[fitting[0]].append((begin, body))
    arms = [TriggerArm(trigger, tuple(own)) for trigger, own in members.items() if own]
    if not arms:
        raise ConstraintError("missing tags", place=place)
    return tuple(arms)


def _plain_only(form: Mapping[str, Any], place: str) -> None:
    _absent(form, ("max_whitespace_cnt",), place)
    for name, plain in _WITHOUT_MEANING.items():
        if form.get(name, plain) != plain:
            raise ConstraintError(
                f"{name} {form[name]!r} is not supported",
                place=f"{place}.{name}",
                hint="only plain JSON in the order of the schema can be enforced",
            )


def _absent(form: Mapping[str, Any], names: tuple[str, ...], place: str) -> None:
    for name in names:
        if form.get(name) is not None:
            raise ConstraintError(f"{name} is not supported", place=f"{place}.{name}")


def _field_at(form: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in form:
        raise ConstraintError(f"missing {name}", place=place or "structural_tag")
    return form[name]


def _object_at(value: object, place: str) -> Mapping[str, Any]:
    if not is_mapping(value):
        raise ConstraintError(f"must be an object, got {value_kind(value)}", place=place)
    return value


def _list_at(value: object, place: str) -> Sequence[Any]:
    if not is_row(value):
        raise ConstraintError(f"must be an array, got {value_kind(value)}", place=place)
    return value


def _text_at(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise ConstraintError(f"must be a string, got {value_kind(value)}", place=place)
    return value


def _texts_at(value: object, place: str) -> tuple[str, ...]:
    return tuple(_text_at(entry, place) for entry in _list_at(value, place))
