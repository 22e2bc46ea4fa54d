"""A structural tag's JSON, in either shape, as a grammar; errors name the place in it.

Two shapes are read: SGLang's ``{"structures": [{"begin", "schema", "end"}], "triggers": [...]}``,
and ``{"type": "structural_tag", "format": {...}}`` with the formats that xgrammar documents
(0.2.8, ``xgrammar.structural_tag``). What llguidance has no form for is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autoparser.analysis.constraining.grammar.lark import write_embedding
from autoparser.analysis.constraining.grammar.rules import Embedded, JsonValue
from autoparser.analysis.core.value_kind import is_list, is_mapping, is_row
from autoparser.analysis.loading.tokens import ModelTokenizer

from .constraint_errors import ConstraintError
from .ebnf import lark_grammar
from .schema_constraint import Whitespace, read_schema, with_whitespace
from .structural import Arm, TagGrammar, Ways

__all__ = ["structural_grammar"]

_WITHOUT_MEANING: dict[str, object] = {"style": "json", "any_order": False, "excludes": []}
"""What a ``json_schema`` format may say of itself without changing what ``%json`` takes."""


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
    def __init__(self, whitespace: Whitespace, made: TagGrammar) -> None:
        self.whitespace: Whitespace = whitespace
        self.made = made

    def whole(self, tag: Mapping[str, Any]) -> Ways:
        if "structures" in tag or "triggers" in tag:
            return self.legacy(tag)
        if "format" not in tag:
            raise ConstraintError(
                "a structural tag has structures and triggers, or a format", place="structural_tag"
            )
        return self.part(tag["format"], "format")

    def legacy(self, tag: Mapping[str, Any]) -> Ways:
        triggers = _texts(_field(tag, "triggers", ""), "triggers")
        tags: list[tuple[str, Ways]] = []
        for number, given in enumerate(_list(_field(tag, "structures", ""), "structures")):
            place = f"structures[{number}]"
            structure = _object(given, place)
            schema = self.schema(_field(structure, "schema", place), f"{place}.schema")
            end = _text(_field(structure, "end", place), f"{place}.end")
            begin = _text(_field(structure, "begin", place), f"{place}.begin")
            tags.append((begin, self.made.row((schema, self.made.fixed((end,))))))
        return self.made.dispatch(_arms(triggers, tags, "structures"))

    def part(self, given: object, place: str) -> Ways:
        form = _object(given, place)
        kind = _field(form, "type", place)
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
            return self.made.fixed((self.token(_field(form, "token", place), f"{place}.token"),))
        return self.made.fixed((_text(_field(form, "value", place), f"{place}.value"),))

    def json(self, form: Mapping[str, Any], place: str) -> Ways:
        _plain_only(form, place)
        return self.schema(_field(form, "json_schema", place), f"{place}.json_schema")

    def pattern(self, form: Mapping[str, Any], place: str) -> Ways:
        return self.made.matching(_text(_field(form, "pattern", place), f"{place}.pattern"))

    def grammar(self, form: Mapping[str, Any], place: str) -> Ways:
        text = _text(_field(form, "grammar", place), f"{place}.grammar")
        return self.made.bound(Embedded(lark_grammar(text, self.made.tokenizer.opaque)))

    def free(self, form: Mapping[str, Any], place: str) -> Ways:
        _absent(form, ("max_tokens", "max_chars"), place)
        return self.made.free(_texts(form.get("excludes", []), f"{place}.excludes"))

    def elements(self, form: Mapping[str, Any], place: str) -> Ways:
        where = f"{place}.elements"
        parts = tuple(
            self.part(element, f"{where}[{number}]")
            for number, element in enumerate(_list(_field(form, "elements", place), where))
        )
        if not parts:
            raise ConstraintError("there are no elements", place=where)
        return (self.made.row if form["type"] == "sequence" else self.made.either)(parts)

    def whole_tag(self, form: Mapping[str, Any], place: str) -> Ways:
        begin, body = self.tag(form, place)
        return self.made.row((self.made.fixed((begin,)), body))

    def schema(self, given: object, place: str) -> Ways:
        schema = with_whitespace(read_schema(given, place), self.whitespace)
        return self.made.bound(JsonValue(schema, style=None))

    def token(self, given: object, place: str) -> str:
        """Return the text of a token, named by itself or by its id."""
        for token in self.made.tokenizer.added:
            if given in {token.id, token.text}:
                return token.text
        raise ConstraintError(f"{given!r} is not an added token of the tokenizer", place=place)

    def text_or_token(self, given: object, place: str) -> str:
        if is_mapping(given):
            return self.token(_field(given, "token", place), f"{place}.token")
        return _text(given, place)

    def tag(self, given: object, place: str) -> tuple[str, Ways]:
        """Read a tag: its begin, and what follows that."""
        form = _object(given, place)
        begin = self.text_or_token(_field(form, "begin", place), f"{place}.begin")
        content = self.part(_field(form, "content", place), f"{place}.content")
        ends = _field(form, "end", place)
        listed = ends if is_list(ends) else [ends]
        texts = tuple(self.text_or_token(end, f"{place}.end") for end in listed)
        if not texts:
            raise ConstraintError("there is no end", place=f"{place}.end")
        return begin, self.made.row((content, self.made.fixed(texts)))

    def tags(self, form: Mapping[str, Any], place: str) -> list[tuple[str, Ways]]:
        given = _list(_field(form, "tags", place), f"{place}.tags")
        return [self.tag(tag, f"{place}.tags[{number}]") for number, tag in enumerate(given)]

    def repeat(self, form: Mapping[str, Any], place: str) -> Ways:
        part = self.part(_field(form, "content", place), f"{place}.content")
        match form["type"]:
            case "optional":
                return self.made.repeated(part, 0, 1)
            case "plus":
                return self.made.repeated(part, 1, None)
            case "star":
                return self.made.repeated(part, 0, None)
            case _:
                least, most = _field(form, "min", place), _field(form, "max", place)
                if not isinstance(least, int) or not isinstance(most, int) or least < 0:
                    raise ConstraintError("min and max are not counts", place=place)
                if -1 < most < least:
                    raise ConstraintError("max is less than min", place=place)
                return self.made.repeated(part, least, most if most >= 0 else None)

    def triggered(self, form: Mapping[str, Any], place: str) -> Ways:
        if form["type"] == "triggered_tags":
            triggers = _texts(_field(form, "triggers", place), f"{place}.triggers")
        else:
            given = _list(_field(form, "trigger_tokens", place), f"{place}.trigger_tokens")
            triggers = tuple(self.token(token, f"{place}.trigger_tokens") for token in given)
        return self.made.dispatch(
            _arms(triggers, self.tags(form, place), f"{place}.tags"),
            starts_with_arm=bool(form.get("at_least_one", False)),
            once=bool(form.get("stop_after_first", False)),
            excludes=self.excludes(form, place),
        )

    def dispatch(self, form: Mapping[str, Any], place: str) -> Ways:
        arms: list[Arm] = []
        for number, given in enumerate(_list(_field(form, "rules", place), f"{place}.rules")):
            where = f"{place}.rules[{number}]"
            rule = _list(given, where)
            if len(rule) != 2:  # noqa: PLR2004 - a pair
                raise ConstraintError("a rule is a pattern and a format", place=where)
            is_text = form["type"] == "dispatch"
            trigger = _text(rule[0], where) if is_text else self.token(rule[0], where)
            arms.append(Arm(trigger, ((trigger, self.part(rule[1], f"{where}[1]")),)))
        if not arms:
            raise ConstraintError("there are no rules", place=f"{place}.rules")
        once = not form.get("loop", True)
        return self.made.dispatch(arms, excludes=self.excludes(form, place), once=once)

    def excludes(self, form: Mapping[str, Any], place: str) -> tuple[str, ...]:
        tokens = _list(form.get("exclude_tokens", []), f"{place}.exclude_tokens")
        return (
            *_texts(form.get("excludes", []), f"{place}.excludes"),
            *(self.token(token, f"{place}.exclude_tokens") for token in tokens),
        )

    def separated(self, form: Mapping[str, Any], place: str) -> Ways:
        tags = [
            self.made.row((self.made.fixed((begin,)), body))
            for begin, body in self.tags(form, place)
        ]
        separator = _text(_field(form, "separator", place), f"{place}.separator")
        return self.made.repeated(
            self.made.either(tags),
            1 if form.get("at_least_one", False) else 0,
            1 if form.get("stop_after_first", False) else None,
            separator,
        )


def _arms(triggers: tuple[str, ...], tags: list[tuple[str, Ways]], place: str) -> tuple[Arm, ...]:
    """Put the tags to their triggers: each begins with exactly one."""
    members: dict[str, list[tuple[str, Ways]]] = {trigger: [] for trigger in triggers}
    for number, (begin, body) in enumerate(tags):
        fitting = [trigger for trigger in triggers if trigger and begin.startswith(trigger)]
        if len(fitting) != 1:
            which = " and ".join(repr(trigger) for trigger in fitting) or "none of the triggers"
            raise ConstraintError(
                f"{begin!r} begins with {which}",
                place=f"{place}[{number}].begin",
                hint="each tag begins with exactly one trigger",
            )
        members[fitting[0]].append((begin, body))
    arms = [Arm(trigger, tuple(own)) for trigger, own in members.items() if own]
    if not arms:
        raise ConstraintError("there are no tags", place=place)
    return tuple(arms)


def _plain_only(form: Mapping[str, Any], place: str) -> None:
    _absent(form, ("max_whitespace_cnt",), place)
    for name, plain in _WITHOUT_MEANING.items():
        if form.get(name, plain) != plain:
            raise ConstraintError(
                f"{name} {form[name]!r} is not supported",
                place=f"{place}.{name}",
                hint="plain JSON in the order of the schema is what can be held to",
            )


def _absent(form: Mapping[str, Any], names: tuple[str, ...], place: str) -> None:
    for name in names:
        if form.get(name) is not None:
            raise ConstraintError(f"{name} is not supported", place=f"{place}.{name}")


def _field(form: Mapping[str, Any], name: str, place: str) -> Any:
    if name not in form:
        raise ConstraintError(f"has no {name}", place=place or "structural_tag")
    return form[name]


def _object(given: object, place: str) -> Mapping[str, Any]:
    if not is_mapping(given):
        raise ConstraintError(f"is not an object but {type(given).__name__}", place=place)
    return given


def _list(given: object, place: str) -> Sequence[Any]:
    if not is_row(given):
        raise ConstraintError(f"is not a list but {type(given).__name__}", place=place)
    return given


def _text(given: object, place: str) -> str:
    if not isinstance(given, str):
        raise ConstraintError(f"is not text but {type(given).__name__}", place=place)
    return given


def _texts(given: object, place: str) -> tuple[str, ...]:
    return tuple(_text(entry, place) for entry in _list(given, place))
