"""Random messages: texts without markers, arguments of every type that the tools declare."""

from __future__ import annotations

from functools import cache

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.message_battery import CITY_TOOL, MIXED_TOOL

_PROSE = "abcxyz ABC 0189 .,:;!?-_'\"()&%#*\n\u00e9\u65e5\u672c\U0001f680"
_VALUE = _PROSE + "<>{}[]\\/|=\t"

prose = st.text(_PROSE, max_size=60).filter(lambda text: not text or bool(text.strip()))
words = st.text(_VALUE, max_size=40)
integers = st.integers(-(10**12), 10**12)
numbers = integers | st.floats(allow_nan=False, allow_infinity=False)
keys = st.text("abcxyzABC_019", min_size=1, max_size=8)
values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | integers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
ids = st.text("abcdefABCDEF0123456789", min_size=9, max_size=9)

_forecasts = st.builds(
    ToolCall,
    st.just(CITY_TOOL),
    st.fixed_dictionaries({"city": words}, optional={"days": integers}),
    ids,
)
_changes = st.builds(
    ToolCall,
    st.just(MIXED_TOOL),
    st.fixed_dictionaries(
        {},
        optional={
            "title": words,
            "count": integers,
            "ratio": numbers,
            "active": st.booleans(),
            "labels": st.lists(values, max_size=3),
            "options": st.dictionaries(keys, values, max_size=3),
        },
    ),
    ids,
)
messages = st.builds(
    Message, prose, st.just("") | prose, st.lists(_forecasts | _changes, max_size=3).map(tuple)
)


@cache
def random_messages(count: int) -> tuple[Message, ...]:
    """Draw so many messages, always the same ones."""
    drawn: list[Message] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(messages)
    def draw(message: Message) -> None:
        drawn.append(message)

    draw()
    return tuple(drawn)
