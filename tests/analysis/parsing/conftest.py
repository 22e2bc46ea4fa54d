"""What the parser does not do yet: tests that are known to fail, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

_ARRAY_TAGS = "an array whose items are tags of one name is read as text"
_LOOSE_END = "whitespace behind a value's end is forgiven too much, and a key may hold anything"
_OPEN_JSON = "JSON that lacks its closing brackets at the end is cut, not repaired"
_OPEN_VALUE = "a value without its closer is not ended by the next marker in every format"
_FORCED = "an opening written twice is kept where the prompt opens the reasoning by force"

KNOWN: Mapping[str, str] = {
    "test_the_battery_comes_back[a6-key-is-tag]": _ARRAY_TAGS,
    "test_random_messages_come_back[a6-key-is-tag]": _ARRAY_TAGS,
    "test_a_shape_is_read_however_it_comes[two calls-a6-key-is-tag]": _ARRAY_TAGS,
    "test_a_shape_is_read_however_it_comes[reasoning before-a6-key-is-tag]": _ARRAY_TAGS,
    "test_a_shape_is_read_however_it_comes[all of it-a6-key-is-tag]": _ARRAY_TAGS,
    "test_random_messages_come_back[arguments-type-flags]": _LOOSE_END,
    "repaired[the object's (j1-json-in-tags)]": _OPEN_JSON,
    "repaired[both braces (j1-json-in-tags)]": _OPEN_JSON,
    "repaired[the last value's (a2-key-value-tags)]": _OPEN_VALUE,
    "repaired[the parenthesis (p1-2-python-list)]": _OPEN_VALUE,
    "repaired[the token (g1-pseudo-json)]": _OPEN_VALUE,
    "next_marker[before the next key (a2-key-value-tags)]": _OPEN_VALUE,
    "next_marker[before the next parameter (a3-invoke-parameter)]": _OPEN_VALUE,
    "forgiven[a word (a1-function-parameter)]": "text before a call's second marker is no noise",
    "is_one[a name alone (j2-bare-object)]": "a bare object with a name alone is a call",
    "written_again[reasoning-forced-closed-<muse>]": _FORCED,
}
"""Ends of test ids, and what is missing. Each fails, or this table is wrong."""


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Expect the known to fail."""
    for item in items:
        for ending, reason in KNOWN.items():
            if item.nodeid.endswith(ending):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
