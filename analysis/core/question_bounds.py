"""The range of inputs behind every verdict on a template, counted from the renders.

A verdict covers only the requests that were rendered: `AskedBounds(messages=6, calls=3, tools=3,
longest_text=4004, …)`. Requests that raise show nothing and are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field

from .conversation import Json, tool_function
from .documents import Count, SettingValues
from .error_words import is_list


class AskedBounds(Struct, frozen=True):
    """The largest values in the requests of some renders."""

    forms: dict[str, Count]
    """Renders by form of messages, calls and tools, such as `{"content as text": 199}`."""
    settings: tuple[SettingValues, ...]
    """The settings of switches, each once, such as `{"enable_thinking": False}`."""
    messages: Count
    """The most messages in one conversation, e.g. `6`."""
    calls: Count
    """The most calls in one conversation, e.g. `3`."""
    tools: Count
    """The most tools in one request, e.g. `3`."""
    longest_text: Count
    """Characters of the longest text of a message, result or argument, e.g. `4004`."""
    largest_number: float
    """The largest absolute value of a number in an argument, e.g. `7654321`."""
    name_signs: str
    """The characters of the names of tools, sorted, e.g. `"-12FT_acdefghiknopqrstuwx"`."""


class AskedTally(Struct):
    """Counts the requests of renders, one by one."""

    _forms: Counter[frozenset[str]] = field(default_factory=Counter[frozenset[str]])
    """The number of requests by the forms in them, such as `frozenset({"content as text"})`."""
    _settings: dict[str, Mapping[str, Json]] = field(default_factory=dict[str, Mapping[str, Json]])
    """The settings, by their texts, each once, such as `{"{}": {}}`."""
    _messages: int = 0
    """The most messages so far, such as `12`; likewise below."""
    _calls: int = 0
    """The most calls, such as `3`."""
    _tools: int = 0
    """The most tools, such as `3`."""
    _longest: int = 0
    """The characters of the longest text, such as `4004`."""
    _largest: float = 0
    """The largest absolute value of a number, such as `7654321`."""
    _signs: set[str] = field(default_factory=set[str])
    """The characters of names of tools, such as `{"T", "a", "-", "_"}`."""
    _known_tools: Sequence[Json] | None = None
    """The tools of the last request, such as a list with the tool `get_forecast`; mostly the next
    request has the same ones."""
    _tool_forms: set[str] = field(default_factory=set[str])
    """The forms of these tools, such as `{"tools wrapped as functions"}`."""
    _known_name: object = ""
    """The name of the last function, such as `"get_forecast"`; often the next function has the same
    one."""
    _known_setting: Mapping[str, Json] | None = None
    """The setting of the last request, such as `{"enable_thinking": False}`; mostly the next
    request has the same one."""

    def add(
        self,
        messages: Sequence[Mapping[str, Json]],
        tools: Sequence[Json] | None,
        setting: Mapping[str, Json],
    ) -> None:
        """Count one request that was rendered."""
        forms: set[str] = set()
        # By identity: writing out each setting would take longer than all other counts.
        if setting is not self._known_setting:
            self._known_setting = setting
            self._settings.setdefault(repr(dict(setting)), dict(setting))
        calls = 0
        for message in messages:
            calls += self._add_message(message, forms)
        self._messages = max(self._messages, len(messages))
        self._calls = max(self._calls, calls)
        if tools:
            if tools is not self._known_tools:
                self._known_tools, self._tool_forms = tools, self._forms_of(tools)
            forms |= self._tool_forms
        self._forms[frozenset(forms)] += 1

    @property
    def bounds(self) -> AskedBounds:
        """The bounds of all requests so far."""
        counted = Counter[str]()
        for together, renders in self._forms.items():
            counted.update(dict.fromkeys(together, renders))
        return AskedBounds(
            forms=dict(sorted(counted.items())),
            settings=tuple(self._settings.values()),
            messages=self._messages,
            calls=self._calls,
            tools=self._tools,
            longest_text=self._longest,
            largest_number=self._largest,
            name_signs="".join(sorted(self._signs)),
        )

    def merge(self, other: AskedTally) -> None:
        """Add the counts of another tally."""
        self._forms.update(other._forms)
        self._settings = {**self._settings, **other._settings}
        self._messages = max(self._messages, other._messages)
        self._calls = max(self._calls, other._calls)
        self._tools = max(self._tools, other._tools)
        self._longest = max(self._longest, other._longest)
        self._largest = max(self._largest, other._largest)
        # The last request is only a cache of the other tally, so it is not merged.
        self._signs |= other._signs

    def _forms_of(self, tools: Sequence[Json]) -> set[str]:
        self._tools = max(self._tools, len(tools))
        forms: set[str] = set()
        for tool in tools:
            self._add_function(tool, "tools", forms)
        return forms

    def _add_message(self, message: Mapping[str, Any], forms: set[str]) -> int:
        """Count a message; return its number of calls."""
        content: Any = message.get("content")
        if isinstance(content, str):
            self._longest = max(self._longest, len(content))
            forms.add("content as text")
            if len(message) == len(_PLAIN_FIELDS) and message.get("role") in _USUAL_ROLES:
                # Most messages have no other fields.
                return 0
        elif is_list(content):
            forms.add("content as a list of parts")
            self._add_value(content)
        if not message.keys() <= _USUAL_FIELDS:
            for key, value in message.items():
                if key not in _USUAL_FIELDS and isinstance(value, str):
                    self._longest = max(self._longest, len(value))
                    forms.add(f"{FIELD_FORM}{key}")
        role = message.get("role")
        if role not in _USUAL_ROLES:
            forms.add(f"messages of the role {role}")
        calls = message.get("tool_calls")
        if not calls:
            return 0
        for call in calls:
            self._add_function(call, "calls", forms)
        return len(calls)

    def _add_function(self, holder: Any, what: str, forms: set[str]) -> None:
        function = tool_function(holder)
        if function is None:
            return
        wrapped = "bare" if function is holder else "wrapped as functions"
        forms.add(f"{what} {wrapped}")
        name = function.get("name", "")
        if name != self._known_name:
            self._known_name = name
            self._signs.update(str(name))
        arguments = function.get("arguments")
        if arguments is not None:
            kind = "JSON text" if isinstance(arguments, str) else "an object"
            forms.add(f"arguments as {kind}")
            self._add_value(arguments)

    def _add_value(self, value: object) -> None:
        # The commonest kinds come first: each argument of each render is asked.
        if isinstance(value, str):
            self._longest = max(self._longest, len(value))
        elif isinstance(value, dict):
            for item in cast("dict[str, object]", value).values():
                self._add_value(item)
        elif is_list(value):
            for item in value:
                self._add_value(item)
        # `True` is an int in Python, and no number in JSON.
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self._largest = max(self._largest, abs(value))


FIELD_FORM = "the field "
"""The beginning of the form of a message with another field, e.g. `"the field reasoning"`."""

_PLAIN_FIELDS = frozenset({"role", "content"})
_USUAL_ROLES = frozenset({"system", "user", "assistant", "tool"})
_USUAL_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
