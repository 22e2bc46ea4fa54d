"""What a person gives, read as data classes: the one home of its checks and of their words.

Contract: a value that is not of the wanted kind is an AutoparserError with the file, the place in
it, such as `tools[1].function.parameters`, what stands there, what was expected, and the known
word that a misspelt key or choice was probably meant to be.

The kinds are msgspec's: it weighs a tenth of pydantic, is imported in half the time, and has its
first value read before pydantic has built the first of its validators. It tells what is wrong in
one text, of which the place is taken here; all words for a person are ours. What a field expects
is said once, as the `description` of its `Meta`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, TypeVar

import msgspec

from .errors import AutoparserError
from .expected import Expected, expected_at
from .spelling import misspelt, suggest
from .value_kind import is_mapping, kind_of

__all__ = ["place_in", "read"]

_Kind = TypeVar("_Kind")

_ANY_MEMBER = "..."
"""What msgspec writes in the place of a mapping's key."""
_WHERE = re.compile(r" - at (?P<key>`key` in )?`\$(?P<path>.*)`$", re.DOTALL)
_PART = re.compile(r"\[(?P<index>\d+)\]|\[(?P<any>\.\.\.)\]|\.(?P<name>[^.\[]+)")
_PLAIN = re.compile(r"[\w$-]+")
_FIELD = re.compile(r"^Object (?P<what>contains unknown|missing required) field `(?P<name>.*)`$")


def place_in(place: str, *parts: str | int) -> str:
    """Return the place of a part: `place_in("tools", 1, "function")` is `tools[1].function`."""
    for part in parts:
        if isinstance(part, int):
            place += f"[{part}]"
        else:
            name = part if _PLAIN.fullmatch(part) else f'"{part}"'
            place += f".{name}" if place else name
    return place


def read(
    value: object,
    kind: type[_Kind],
    *,
    file: str,
    place: str = "",
    wrong: type[AutoparserError] = AutoparserError,
    hint: str = "",
) -> _Kind:
    """Read plain values, as JSON, YAML and TOML have them, as a `kind`.

    `place` is where the value stands in `file`. `hint` says what to do about a file that nobody
    writes by hand, whatever is wrong with it. Raises `wrong`.
    """
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        # JSON can name half a surrogate pair.
        words, where, then = "a key has half a character", place, ""
    except msgspec.ValidationError as error:
        parts, words, then = _told(str(error), value, kind)
        where = place_in(place, *parts)
    raise wrong(words, file=file, place=where or None, hint=hint or then or None)


def _parts(path: str) -> Iterator[str | int]:
    for match in _PART.finditer(path):
        yield int(match["index"]) if match["index"] else match["name"] or match["any"]


def _named(
    parts: tuple[str | int, ...], value: object, kind: type[object], complaint: str
) -> tuple[str | int, ...]:
    """Name the mapping's members that the complaint does not: those that alone give it again."""
    while _ANY_MEMBER in parts:
        before, behind = parts[: (at := parts.index(_ANY_MEMBER))], parts[at + 1 :]
        for key in _part(value, before):
            alone = _alone(value, before, key)
            try:
                msgspec.convert(alone, kind)
            except msgspec.ValidationError as error:
                if str(error) == complaint:
                    value, parts = alone, (*before, key, *behind)
                    break
        else:
            return before
    return parts


def _alone(members: Any, path: Sequence[str | int], key: str) -> object:
    """Copy a value with one member of the mapping at a path as the only one."""
    if not path:
        return {key: members[key]}
    copied = members.copy()
    copied[path[0]] = _alone(members[path[0]], path[1:], key)
    return copied


def _part(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value


def _told(
    complaint: str, value: object, kind: type[object]
) -> tuple[tuple[str | int, ...], str, str]:
    """Say where it is wrong, what is, and what to do, in our words."""
    found = _WHERE.search(complaint)
    said = complaint[: found.start()] if found else complaint
    parts = _named(tuple(_parts(found["path"])), value, kind, complaint) if found else ()
    expected = expected_at(kind, parts)
    if found is not None and found["key"]:
        return parts, "a key is not a text", "put it in quotes"
    field = _FIELD.match(said)
    if field is not None and field["what"] == "missing required":
        missing = field["name"]
        near = misspelt(
            missing, _unknown_keys(_part(value, parts), expected), f"add {expected.of(missing)}"
        )
        return parts, f"this has no {missing}", near
    if field is not None:
        unknown = field["name"]
        return (*parts, unknown), f"there is no key {unknown!r}", _known(unknown, expected)
    stands = _part(value, parts)
    is_what = kind_of(stands)
    if expected.choices and not isinstance(stands, list | dict):
        near = suggest(str(stands), expected.choices, "write one of them")
        return parts, f"{stands!r} is none of {', '.join(expected.choices)}", near
    if expected.kind.startswith("a text") and isinstance(stands, bool | int | float | date):
        return parts, f"this is {is_what}, not {expected.kind}", "put it in quotes"
    then = _write(expected.words or ", ".join(expected.keys))
    if not stands and " of length " in said:
        return parts, "this is empty", then
    return parts, f"this is {is_what}, not {expected.kind}", then


def _unknown_keys(value: object, expected: Expected) -> list[str]:
    """Return the keys of a value that its kind does not know."""
    return [str(key) for key in value if key not in expected.keys] if is_mapping(value) else []


def _known(unknown: str, expected: Expected) -> str:
    if len(expected.keys) == 1:
        return _write(expected.of(expected.keys[0]))
    return suggest(unknown, expected.keys, f"there are {', '.join(expected.keys)}")


def _write(words: str) -> str:
    return words and f"write {words}"
