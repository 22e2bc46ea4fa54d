"""What a data class expects at a place, for the words about a value that is something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from msgspec import inspect

__all__ = ["Expected", "expected_at"]

_KINDS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.DictType: "an object",
    inspect.EnumType: "a text",
    inspect.FloatType: "a number",
    inspect.IntType: "a number",
    inspect.ListType: "a list",
    inspect.LiteralType: "a text",
    inspect.StrType: "a text",
    inspect.StructType: "an object",
    inspect.VarTupleType: "a list",
}


@dataclass(frozen=True, slots=True)
class Expected:
    """What stands at a place in words, and what may be written there."""

    kind: str
    words: str = ""
    """What its `Meta` says; empty where it says nothing."""
    choices: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its keys, each with what is said of it."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that it may have."""
        return tuple(self.members)

    def of(self, key: str) -> str:
        """Say what stands at a key."""
        return self.members.get(key) or f"the {key}"


def expected_at(kind: type[object], parts: Sequence[str | int]) -> Expected:
    """Return what `kind` expects at a place in it, such as `("tools", 1, "name")`."""
    node: inspect.Type = inspect.type_info(kind)
    words = _words(node)
    for part in parts:
        inner = _inner(node, part)
        if inner is None:
            break
        node = inner
        # What is said of a list holds for its members, too, where they have no keys to tell.
        of_list = isinstance(part, int) and not _members(node)
        words = _words(node) or (words if of_list else "")
    alternatives = [*_alternatives(node)]
    kinds = dict.fromkeys(_KINDS[type(each)] for each in alternatives if type(each) in _KINDS)
    return Expected(
        " or ".join(kinds),
        words,
        tuple(choice for each in alternatives for choice in _choices(each)),
        _members(node),
    )


def _alternatives(node: inspect.Type) -> Iterator[inspect.Type]:
    """Return what a union may be, and what its metadata are about."""
    if isinstance(node, inspect.Metadata):
        yield from _alternatives(node.type)
    elif isinstance(node, inspect.UnionType):
        for each in node.types:
            yield from _alternatives(each)
    else:
        yield node


def _members(node: inspect.Type) -> dict[str, str]:
    return {
        each.encode_name: _words(each.type)
        for structure in _alternatives(node)
        if isinstance(structure, inspect.StructType)
        for each in structure.fields
    }


def _inner(node: inspect.Type, part: str | int) -> inspect.Type | None:
    for each in _alternatives(node):
        if isinstance(part, int) and isinstance(each, inspect.ListType | inspect.VarTupleType):
            return each.item_type
        if isinstance(part, str) and isinstance(each, inspect.StructType):
            return next((at.type for at in each.fields if at.encode_name == part), None)
        if isinstance(each, inspect.DictType):
            return each.value_type
    return None


def _choices(node: inspect.Type) -> Iterator[str]:
    if isinstance(node, inspect.EnumType):
        yield from (str(each.value) for each in node.cls)
    elif isinstance(node, inspect.LiteralType):
        yield from map(str, node.values)


def _words(node: inspect.Type) -> str:
    if isinstance(node, inspect.UnionType):
        return "".join([words for each in node.types if (words := _words(each))][:1])
    if not isinstance(node, inspect.Metadata):
        return ""
    # Its members have no types.
    said = cast("dict[str, object]", node.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]
    return str(said.get("description", ""))
