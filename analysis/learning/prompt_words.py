r"""Search the words of prompts for tags and example calls, which no render confirms.

With a certain value of a switch, a system message of
`fixtures/templates/reasoning-in-prompt-words.jinja` contains

    put your thoughts between <musing> </musing> tags

so `find_worded_reasoning` returns `<musing>` and `</musing>`. With tools,
`fixtures/templates/calls-in-prompt-words.jinja` writes

    <invoke_tool>\n{"tool": "function_name", "args": {"argument": "value"}}\n</invoke_tool>

and `find_worded_call` returns a call whose row has the slots of `function_name` and of the object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import RowSlot, json_notation
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.switches import Switch, SwitchEffect
from autoparser.analysis.core.text_alignment import diff_split, edge_units, is_unit

from .generation_prompts import NamedReasoning
from .observer import Observer
from .prober import Evidence

_LONGEST_INSIDE = 40
"""At most this many characters are between two paired tags: a placeholder, or "and"."""


def find_worded_reasoning(
    observer: Observer, switches: Sequence[Switch]
) -> tuple[NamedReasoning, Evidence] | None:
    """Search the text that a switch adds before the turn for a pair of tags."""
    prober = observer.prober
    unset = prober.probe((prober.user,))
    for switch in switches:
        if switch.inserted or SwitchEffect.PROMPT not in switch.changes:
            continue
        for value in switch.values:
            if repr(value) == repr(switch.any_other):
                # Tags around the caller's own words are not meant for the model's.
                continue
            with_words = prober.probe(
                (prober.user,), setting={**prober.setting, switch.name: value}
            )
            added = diff_split(unset.text, with_words.text).right
            for opening, inside, close in _tag_pairs(added):
                given = value if isinstance(value, list) else []
                if any(isinstance(text, str) and text in inside for text in given):
                    continue  # a document of the caller's, and no reasoning
                if len(inside) <= _LONGEST_INSIDE and "\n" not in inside:
                    evidence = Evidence("switch unset / set", unset, with_words)
                    return NamedReasoning(opening, close, confirmed=False), evidence
    return None


def find_worded_call(observer: Observer) -> tuple[CallFormat, Evidence] | None:
    """Search the text that tools add before the turn for tags around a JSON object."""
    prober = observer.prober
    without = prober.probe((prober.user,), tools=False)
    # Words that appear only with tools describe how to call them.
    with_words = prober.probe((prober.user,))
    if not without.rendered or not with_words.rendered:
        return None
    added = diff_split(without.text, with_words.text).right
    for opening, inside, close in _tag_pairs(added):
        if any(word in inside for word in prober.sentinels.words()):
            continue
        calls = _read_example_call(opening, inside, close)
        if calls is not None:
            return calls, Evidence("no tools / tools", without, with_words)
    return None


def _tag_pairs(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the tags of a text that have a closing tag, with the text between."""
    units = edge_units(text)
    for at, unit in enumerate(units):
        if not is_unit(unit):
            continue
        for later in range(at + 1, len(units)):
            other = units[later]
            if other != unit and is_unit(other) and other.replace("/", "", 1) == unit:
                yield unit, "".join(units[at + 1 : later]), other
                break


_PLACEHOLDER = re.compile(r"(?<=[:\s])<[^<>\n]+>|\{[\w\s-]+\}")


def _read_example_call(opening: str, inside: str, close: str) -> CallFormat | None:
    """Read an example call: an object with a name and an object of arguments."""
    body = inside.strip()
    lead, trail = inside[: inside.find(body)], inside[inside.find(body) + len(body) :]
    try:
        # Prompts contain placeholders as in `{"name": <function-name>, "arguments":
        # <args-json-object>}`, which is not JSON.
        value: Json = json.loads(_PLACEHOLDER.sub('""', body))
    except ValueError:
        return None
    fields = 2
    if not isinstance(value, dict) or len(value) != fields:
        return None
    (name, named), (arguments, given) = value.items()
    if not isinstance(named, str) or not isinstance(given, str | dict):
        return None
    notation = json_notation()
    return CallFormat(
        row=(
            f'{opening}{lead}{{"{name}": "',
            RowSlot.NAME,
            f'", "{arguments}": ',
            RowSlot.ARGUMENTS,
            f"}}{trail}{close}",
        ),
        arguments=ArgumentFormat(notation.object, notation),
        limit=CallLimit.FIRST,
    )
