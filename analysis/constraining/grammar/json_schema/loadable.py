"""Which schemas llguidance does not load: many are asked about at once, and none twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

_MOST = 4096
KNOWN: OrderedDict[str, str] = OrderedDict()
"""What was said of the latest schemas; empty: it loads them."""
_LOCK = Lock()


def refusals(schemas: Iterable[str]) -> Mapping[str, str]:
    """Return what llguidance says of those schemas, as JSON texts, that it does not load."""
    asked = list(dict.fromkeys(schemas))
    with _LOCK:
        said = {schema: KNOWN[schema] for schema in asked if schema in KNOWN}
    new = dict(_asked([schema for schema in asked if schema not in said]))
    with _LOCK:
        for schema in asked:
            KNOWN[schema] = said.get(schema, "") or new.get(schema, "")
            KNOWN.move_to_end(schema)
        while len(KNOWN) > _MOST:
            KNOWN.popitem(last=False)
    return {schema: why for schema, why in (said | new).items() if why}


def _asked(schemas: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Ask about all; where that is refused, about each half."""
    refusal = refusal_of(schemas) if schemas else ""
    if not refusal:
        return
    if len(schemas) == 1:
        yield schemas[0], refusal
        return
    middle = len(schemas) // 2
    yield from _asked(schemas[:middle])
    yield from _asked(schemas[middle:])


def refusal_of(schemas: Sequence[str]) -> str:
    """Return what llguidance says of a grammar of schemas that it does not load."""
    from llguidance import LLMatcher  # noqa: PLC0415 - it takes longer to import than to ask

    names = [f"json_{at}" for at in range(len(schemas))]
    lines = [f"start: {' | '.join(names)}"]
    lines += [f"{name}: %json {schema}" for name, schema in zip(names, schemas, strict=True)]
    grammar = LLMatcher.grammar_from_lark("\n".join(lines) + "\n")
    is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    return str(messages[0]).strip() if is_error and messages else ""
