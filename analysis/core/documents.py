"""JSON documents as data classes, so that a document and its schema have one source.

For example, of a class `Chat` with the field `messages: tuple[str, ...]`,

    read_value({"messages": ["Hi.", 3]}, Chat, file="chat.yaml")

raises the error

    chat.yaml: messages[1]: must be a string, got a number; put it in quotes

Contract: a document has the keys of its class, all of them and in their order, and no value that
a JSON writer refuses. A class is a `JsonDocument`, or another frozen data class with the same
fields; the string below a field is its description in the schema.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Meta, Struct, field, inspect, to_builtins

from autoparser.lazy_names import lazy_pattern

from .conversation import Json
from .error_words import (
    is_mapping,
    missing_name_hint,
    spelling_hint,
    value_kind,
)
from .errors import AutoparserError

_KINDS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "a boolean",
    inspect.DictType: "an object",
    inspect.EnumType: "a string",
    inspect.FloatType: "a number",
    inspect.IntType: "a number",
    inspect.ListType: "an array",
    inspect.LiteralType: "a string",
    inspect.StrType: "a string",
    inspect.StructType: "an object",
    inspect.VarTupleType: "an array",
}


class ExpectedValue(Struct, frozen=True):
    """The description of a place, and its allowed values."""

    kind: str
    """The kind of value in words, such as `"a string or an array"`."""
    words: str = ""
    """The description in its `Meta`, such as `"a list of messages"`; empty if it has none."""
    choices: tuple[str, ...] = ()
    """The allowed values of an enumeration, such as `("user", "assistant")`."""
    members: Mapping[str, str] = field(default_factory=dict[str, str])
    """The description of each key, such as `{"name": "the tool's name"}`."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The allowed keys."""
        return tuple(self.members)

    def of(self, key: str) -> str:
        """Describe the value of a key."""
        return self.members.get(key) or f"the {key}"


def expected_at(kind: type[object], parts: Sequence[str | int]) -> ExpectedValue:
    """Return the expected value at a place in a `kind`, such as `("tools", 1, "name")`."""
    node: inspect.Type = inspect.type_info(kind)
    words = _description(node)
    for part in parts:
        inner = _type_at(node, part)
        if inner is None:
            break
        node = inner
        # The description of a list serves for its items, too, if they have no keys of their own.
        of_list = isinstance(part, int) and not _members_of(node)
        words = _description(node) or (words if of_list else "")
    alternatives = [*_alternatives(node)]
    kinds = dict.fromkeys(
        _KINDS[type(alternative)] for alternative in alternatives if type(alternative) in _KINDS
    )
    return ExpectedValue(
        " or ".join(kinds),
        words,
        tuple(choice for alternative in alternatives for choice in _choices_of(alternative)),
        _members_of(node),
    )


def _alternatives(node: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the types of a union, without their metadata."""
    if isinstance(node, inspect.Metadata):
        yield from _alternatives(node.type)
    elif isinstance(node, inspect.UnionType):
        for kind in node.types:
            yield from _alternatives(kind)
    else:
        yield node


def _members_of(node: inspect.Type) -> dict[str, str]:
    return {
        member.encode_name: _description(member.type)
        for structure in _alternatives(node)
        if isinstance(structure, inspect.StructType)
        for member in structure.fields
    }


def _type_at(node: inspect.Type, part: str | int) -> inspect.Type | None:
    for alternative in _alternatives(node):
        if isinstance(part, int) and isinstance(
            alternative, inspect.ListType | inspect.VarTupleType
        ):
            return alternative.item_type
        if isinstance(part, str) and isinstance(alternative, inspect.StructType):
            return next((at.type for at in alternative.fields if at.encode_name == part), None)
        if isinstance(alternative, inspect.DictType):
            return alternative.value_type
    return None


def _choices_of(node: inspect.Type) -> Iterator[str]:
    if isinstance(node, inspect.EnumType):
        yield from (str(member.value) for member in node.cls)
    elif isinstance(node, inspect.LiteralType):
        yield from map(str, node.values)


def _description(node: inspect.Type) -> str:
    if isinstance(node, inspect.UnionType):
        return "".join([words for kind in node.types if (words := _description(kind))][:1])
    if not isinstance(node, inspect.Metadata):
        return ""
    # msgspec does not type its members.
    extra_schema = cast("dict[str, object]", node.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]
    return str(extra_schema.get("description", ""))


# Input of users, converted to data classes: the one home of these checks and their messages.
#
# Contract: a value of another kind raises an AutoparserError with the file, the place in it, such
# as `tools[1].function.parameters`, the value there, the expected one, and the known word that a
# misspelled key or choice was probably meant to be.
#
# msgspec converts: it has a tenth of pydantic's size, is imported in half the time, and converts
# its first value before pydantic has built its first validator. Its errors are one text, from
# which the place is parsed here; the messages are ours. A field's expectation is stated once, as
# the `description` of its `Meta`.


_Kind = TypeVar("_Kind")
_Struct = TypeVar("_Struct", bound=Struct)

_ANY_MEMBER = "..."
"""msgspec's placeholder for the key of a mapping."""
_WHERE = lazy_pattern(r" - at (?P<key>`key` in )?`\$(?P<path>.*)`$", re.DOTALL)
_PART = lazy_pattern(r"\[(?P<index>\d+)\]|\[(?P<any>\.\.\.)\]|\.(?P<name>[^.\[]+)")
_PLAIN = lazy_pattern(r"[\w$-]+")
_BOUND = lazy_pattern(r"^Expected `\w+`(?P<length> of length)? (?P<sign>[<>]=?) (?P<bound>\S+)$")
_SIGNS = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}
_FIELD = lazy_pattern(r"^Object (?P<what>contains unknown|missing required) field `(?P<name>.*)`$")


def place_in(place: str, *parts: str | int) -> str:
    """Return the place of a part: `place_in("tools", 1, "function")` is `tools[1].function`."""
    for part in parts:
        if isinstance(part, int):
            place += f"[{part}]"
        else:
            name = part if _PLAIN.fullmatch(part) else f'"{part}"'
            place += f".{name}" if place else name
    return place


def read_value(
    value: object,
    kind: type[_Kind],
    *,
    file: str,
    place: str = "",
    wrong: type[AutoparserError] = AutoparserError,
    hint: str = "",
) -> _Kind:
    """Convert plain values, as of JSON, YAML and TOML, to a `kind`.

    `place` is the value's place in `file`. `hint` is the advice for files that are not written by
    hand, whatever their fault. Raises `wrong`.
    """
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        # JSON can escape half of a surrogate pair.
        words, where, then = "a key has an unpaired surrogate", place, ""
    except msgspec.ValidationError as error:
        parts, words, then = _explain(str(error), value, kind)
        where = place_in(place, *parts)
    raise wrong(words, file=file, place=where or None, hint=hint or then or None)


def _path_parts(path: str) -> Iterator[str | int]:
    for match in _PART.finditer(path):
        yield int(match["index"]) if match["index"] else match["name"] or match["any"]


def _name_members(
    parts: tuple[str | int, ...], value: object, kind: type[object], complaint: str
) -> tuple[str | int, ...]:
    """Replace placeholders for keys: by the key whose member alone causes the same complaint."""
    while _ANY_MEMBER in parts:
        index = parts.index(_ANY_MEMBER)
        before, behind = parts[:index], parts[index + 1 :]
        for key in _value_at(value, before):
            alone = _keep_one_member(value, before, key)
            try:
                msgspec.convert(alone, kind)
            except msgspec.ValidationError as error:
                if str(error) == complaint:
                    value, parts = alone, (*before, key, *behind)
                    break
        else:
            return before
    return parts


def _keep_one_member(members: Any, path: Sequence[str | int], key: str) -> object:
    """Copy a value with one member of the mapping at a path as the only one."""
    if not path:
        return {key: members[key]}
    copied = members.copy()
    copied[path[0]] = _keep_one_member(members[path[0]], path[1:], key)
    return copied


def _value_at(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value


def _explain(
    complaint: str, value: object, kind: type[object]
) -> tuple[tuple[str | int, ...], str, str]:
    """Explain a complaint of msgspec: return the place, the fault, and the way out."""
    found = _WHERE.search(complaint)
    statement = complaint[: found.start()] if found else complaint
    parts = (
        _name_members(tuple(_path_parts(found["path"])), value, kind, complaint) if found else ()
    )
    expected = expected_at(kind, parts)
    if found is not None and found["key"]:
        return parts, "a key is not a string", "put it in quotes"
    field = _FIELD.match(statement)
    if field is not None and field["what"] == "missing required":
        missing = field["name"]
        near = missing_name_hint(
            missing, _unknown_keys(_value_at(value, parts), expected), f"add {expected.of(missing)}"
        )
        return parts, f"missing {missing}", near
    if field is not None:
        unknown = field["name"]
        return (
            (*parts, unknown),
            f"unknown key {unknown!r}",
            _known_keys_hint(unknown, expected),
        )
    stands = _value_at(value, parts)
    is_what = value_kind(stands)
    if expected.choices and not isinstance(stands, list | dict):
        return parts, *_explain_choice(stands, expected.choices)
    # YAML reads words without quotes, such as `yes`, `1.10` or `2025-01-01`, as other values.
    if expected.kind.startswith("a string") and isinstance(stands, bool | int | float | date):
        return parts, f"must be {expected.kind}, got {is_what}", "put it in quotes"
    then = _write_hint(expected.words or ", ".join(expected.keys))
    if not stands and " of length " in statement:
        return parts, "must not be empty", then
    bound = _BOUND.match(statement)
    if bound is not None:
        return parts, *_explain_bound(bound, stands)
    # Integers and floats are both called numbers; only a float is refused as an integer.
    if is_what == expected.kind == "a number":
        return parts, f"must be an integer, got {stands}", then
    return parts, f"must be {expected.kind}, got {is_what}", then


def _explain_choice(stands: object, choices: Sequence[object]) -> tuple[str, str]:
    """Explain that a value is not one of the choices, and how to correct it."""
    if len(choices) == 1:
        return f"must be {choices[0]}, got {stands!r}", f"write {choices[0]}"
    near = spelling_hint(str(stands), choices, "write one of them")
    return f"{stands!r} is not one of {', '.join(map(str, choices))}", near


def _explain_bound(bound: re.Match[str], stands: Any) -> tuple[str, str]:
    """Explain that a number or a length is out of its range, and how to correct it."""
    size = f"{_SIGNS[bound['sign']]} {bound['bound']}"
    if bound["length"]:
        return f"must have a length of {size}, got {len(stands)}", f"write a length of {size}"
    return f"must be {size}, got {stands}", f"write {size}"


def _unknown_keys(value: object, expected: ExpectedValue) -> list[str]:
    """Return the keys of a value that its kind does not have."""
    return [str(key) for key in value if key not in expected.keys] if is_mapping(value) else []


def _known_keys_hint(unknown: str, expected: ExpectedValue) -> str:
    if len(expected.keys) == 1:
        return _write_hint(expected.of(expected.keys[0]))
    return spelling_hint(unknown, expected.keys, f"choose from {', '.join(expected.keys)}")


def _write_hint(words: str) -> str:
    return words and f"write {words}"


SAVED_FORMATS = "autoparser.format/"
"""The prefix of the schemas of saved formats, in all versions."""
RuleCode = Annotated[str, Meta(pattern="^AP[0-9]{3}$")]
Count = Annotated[int, Meta(ge=0)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Positive = Annotated[int, Meta(ge=1)]
ONE_KEY = Meta(extra_json_schema={"minProperties": 1, "maxProperties": 1})
"""The constraint of an object with exactly one of its keys."""
SettingValues = Annotated[
    Mapping[str, Json], Meta(description="Values of the template's switches, by name.")
]


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as ASCII JSON, which every reader and terminal takes literally.

    Raises ValueError for a number that JSON cannot represent.
    """
    # The only control character that JSON does not require to be escaped.
    return json.dumps(value, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, which identifies a template."""
    import hashlib  # noqa: PLC0415 - OpenSSL takes as long as a dozen of our modules

    # A template in JSON can escape half of a surrogate pair, which strict UTF-8 cannot encode.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class JsonDocument(Struct, frozen=True, forbid_unknown_fields=True):
    """An object of a document; unknown keys are refused."""


def copy_fields(kind: type[_Struct], source: object, /, **own: Any) -> _Struct:
    """Return a `kind` with the values of `own`, and its other fields copied from the source.

    The source may be of any class; its attributes and properties with the names of the fields are
    copied. Unlike `msgspec.convert`, it converts nothing.
    """
    names = kind.__struct_fields__
    return kind(**{name: own[name] if name in own else getattr(source, name) for name in names})


def document_json(document: object) -> dict[str, Json]:
    """Return a document as plain JSON values."""
    # msgspec does not encode other mappings, such as `MappingProxyType`.
    written: dict[str, Json] = to_builtins(document, enc_hook=dict)
    return {name: plain_json(value) for name, value in written.items()}


def plain_json(value: Json | tuple[Json, ...]) -> Json:
    """Return a value as JSON can represent it: infinities and NaN become their names."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case list() | tuple():
            return [plain_json(item) for item in value]
        case dict():
            return {key: plain_json(item) for key, item in value.items()}
        case _:
            return value
