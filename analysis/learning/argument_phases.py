r"""The phases on the arguments of a call, which run last: T5, A1, A2, A3, T6.

Each phase compares calls that differ in their arguments. For example
`fixtures/templates/a1-function-parameter.jinja` writes, with one and two of them,

    …\n<parameter=mcdsbpxt>\nzhvwxqzm\n</parameter>\n</function>…
    …\n<parameter=mcdsbpxt>\nzhvwxqzm\n</parameter>\n<parameter=ksdgvjvq>\nvqmrzxvk\n</parameter>\n…

(`mcdsbpxt` is the sentinel of a name, `zhvwxqzm` that of its value), and the findings are

    T5    '\n' separates arguments, their order: as given
    A1    names are written between '<parameter=' and '>\n'
    A2    strings are written as they are between '>\n' and '\n</parameter>'
    A3    True, False, None; arrays and objects in JSON
    T6    a call without arguments is written differently

A2 learns how a string is escaped there, A3 how values of other types are written in its place. T6
asks last whether the text around all arguments is that of an object, such as `{` and `}`; here a
call without any lacks a line break as well.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.string_notation import StringEscape, StringText

from .argument_containers import (
    Enclosure,
    SeenArguments,
    container_notation,
    learn_argument_list,
    learn_enclosure,
    learn_types,
)
from .argument_notation import (
    Strings,
    TypedRows,
    hostile_string,
    learn_key,
    learn_strings,
    typed_samples,
)
from .call_rows import SeenSlot, cut_at, learn_slot, quotes_around
from .observer import Observer
from .prober import Finding, Sentinels, surroundings_words


class SeenKeys(NamedTuple):
    """A1's result: how the names of arguments are written."""

    slot: SeenSlot | None = None
    """The slot of a name in the text of an argument, e.g. KEY for the word `mcdsbpxt`, or None if
    the text does not show it."""
    text: StringText = StringText()
    """How a name's characters are escaped, e.g. as JSON; verbatim by default."""


class ArgumentsStage(Struct, frozen=True):
    """The result of the phases on arguments, if a call shows any."""

    listed: SeenArguments
    """How arguments follow one another (T5), e.g. separated by `", "`."""
    key_text: StringText
    """How a name's characters are escaped (A1), e.g. as JSON strings are."""
    strings: Strings
    """How an argument with a string is written (A2), e.g. as `<arg KEY>VALUE</arg>`."""
    types: TypedRows
    """How arguments of each other type are written (A3), e.g. true as `True`."""
    enclosure: Enclosure
    """The brackets around all arguments (T6), e.g. `{` and `}`, and a call without any."""


def examine_arguments(
    observer: Observer, *, calls_shown: bool
) -> tuple[ArgumentsStage | None, tuple[Finding, ...]]:
    """Run T5, A1, A2, A3 and T6; the stage is None if no call shows arguments that can be read."""
    # T5 finds the text around all arguments; later phases read the text between.
    listed, t5 = examine_t5(observer, calls_shown=calls_shown)
    keys, a1 = examine_a1(observer, listed)
    strings, a2 = examine_a2(observer, listed, keys)
    types, a3 = examine_a3(observer, listed, strings, keys)
    # T6 tests whether the notation of objects that A3 found holds for all arguments together.
    enclosure, t6 = examine_t6(observer, listed, types)
    findings = (t5, a1, a2, a3, t6)
    if listed is None or strings is None or types is None or enclosure is None:
        return None, findings
    return ArgumentsStage(listed, keys.text, strings, types, enclosure), findings


def _one_argument(marks: Sentinels) -> dict[str, Json]:
    return {marks.keys[0]: marks.values[0]}


# T5: one argument compared with two.


def examine_t5(observer: Observer, *, calls_shown: bool) -> tuple[SeenArguments | None, Finding]:
    """Learn the separator and the order of arguments."""
    marks = observer.prober.sentinels
    listed = learn_argument_list(observer) if calls_shown else None
    one = _one_argument(marks)
    pair = {**one, marks.keys[1]: marks.values[1]}
    evidence = observer.compare_arguments("one argument / two arguments", one, pair)
    if not calls_shown:
        conclusion = "no arguments to compare"
    elif listed is None:
        conclusion = "the arguments are not found in the text"
    elif listed.verbatim:
        conclusion = "the caller's JSON string is inserted verbatim"
    else:
        separator = listed.entries.repetition.separator
        separated = f"{separator!r} separates" if separator else "nothing separates"
        conclusion = f"{separated} arguments, their order: {listed.entries.order}"
    return listed, Finding("T5", "several arguments", conclusion, (evidence,), ("arg_separator",))


# A1: one argument name compared with another.


def examine_a1(observer: Observer, listed: SeenArguments | None) -> tuple[SeenKeys, Finding]:
    """Learn the slot of an argument's name: the text of the argument that changes with it."""
    marks = observer.prober.sentinels
    name, other, value = marks.keys[0], marks.keys[1], marks.values[0]
    pair: list[dict[str, Json]] = [{name: value}, {other: value}]
    conclusion, keys = "no arguments to compare", SeenKeys()
    if listed is not None:
        place, entries = listed.place(observer), listed.entries
        one, two = (entries.inside(place.site(arguments)) for arguments in pair)
        keys = SeenKeys(learn_slot(RowSlot.KEY, name, one, two), learn_key(place))
        if one is not None and keys.slot is not None:
            conclusion = _key_words(keys.slot, cut_at((one,), value, RowSlot.VALUE))
            # A template may treat names differently, e.g. skip `id`.
            if one.replace(name, other) != two:
                conclusion += "; the text around them depends on them"
    evidence = observer.compare_arguments("one argument name / another", *pair)
    markers = ("arg_name_prefix", "arg_name_suffix")
    return keys, Finding("A1", "argument names", conclusion, (evidence,), markers)


def _key_words(key: SeenSlot, row: Row) -> str:
    around = surroundings_words(*quotes_around(key.cut(row), RowSlot.KEY))
    return f"names are written{around or ' verbatim'}"


# A2: one argument value compared with another.


def examine_a2(
    observer: Observer, listed: SeenArguments | None, keys: SeenKeys
) -> tuple[Strings | None, Finding]:
    """Learn the literals around a string value, and the escape of its characters."""
    marks = observer.prober.sentinels
    hostile: dict[str, Json] = {marks.keys[0]: hostile_string(marks.values[0])}
    difference = "one value / one of characters that get escaped"
    evidence = observer.compare_arguments(difference, _one_argument(marks), hostile)
    strings = None
    if listed is not None:
        strings = learn_strings(listed.place(observer), listed.entries, keys.slot)
    conclusion = "no values to compare" if strings is None else _string_words(strings)
    markers = ("arg_value_prefix", "arg_value_suffix")
    return strings, Finding("A2", "argument values", conclusion, (evidence,), markers)


def _string_words(strings: Strings) -> str:
    text = strings.text
    conclusion = f"strings are written {text.escape.words}"
    # `repr` chooses its quotes by the string, so they are not literals of the template.
    if text.escape is not StringEscape.PYTHON:
        conclusion += surroundings_words(*quotes_around(strings.row, RowSlot.VALUE))
    if text.guard is not None:
        conclusion += f", some wrapped in {text.guard.open!r} and {text.guard.close!r}"
    return conclusion


# A3: a string value compared with a value of each other type.


def examine_a3(
    observer: Observer, listed: SeenArguments | None, strings: Strings | None, keys: SeenKeys
) -> tuple[TypedRows | None, Finding]:
    """Learn how each type is written, and the notation of arrays and objects."""
    if listed is None or strings is None:
        return None, Finding("A3", "value types", "no values to compare")
    marks = observer.prober.sentinels
    types = learn_types(listed.place(observer), listed.entries, strings)
    string = _one_argument(marks)
    evidence = tuple(
        # `dict` keeps the last of two booleans, true.
        observer.compare_arguments(f"a string / {kind}", string, {marks.typed_keys[kind]: value})
        for kind, value in dict(typed_samples(marks)).items()
    )
    container = container_notation(listed.entries, strings, types, keys.text)
    values = container.values
    if values is None or values.is_json:
        conclusion = "all values are written as JSON"
    else:
        words = f"{values.true}, {values.false}, {values.null}"
        inner = values.array.values or values
        kind = "JSON" if inner.is_json else "a notation of their own"
        conclusion = f"{words}; arrays and objects in {kind}"
    if any(row is None for row in container.typed.values()):
        conclusion += "; null arguments are dropped"
    return types, Finding("A3", "value types", conclusion, evidence)


# T6: no argument compared with one.


def examine_t6(
    observer: Observer, listed: SeenArguments | None, types: TypedRows | None
) -> tuple[Enclosure | None, Finding]:
    """Learn the brackets around arguments, whether they are one value, and a call without any."""
    one = _one_argument(observer.prober.sentinels)
    evidence = observer.compare_arguments("no argument / one argument", {}, one)
    enclosure = None
    if listed is not None and types is not None:
        enclosure = learn_enclosure(observer, listed, types)
    conclusion = "no arguments to compare" if enclosure is None else _enclosure_words(enclosure)
    markers = ("args_start", "args_end")
    return enclosure, Finding("T6", "argument container", conclusion, (evidence,), markers)


def _enclosure_words(enclosure: Enclosure) -> str:
    if enclosure.without is not None:
        return "a call without arguments is written differently"
    if enclosure.notation is None:
        return "the arguments have no markers of their own"
    members = enclosure.notation.object
    return f"the arguments are between {members.open!r} and {members.close!r}"
