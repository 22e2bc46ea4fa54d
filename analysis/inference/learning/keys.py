"""How the keys of an object are written, learnt from one key that holds all that gets escaped."""

from __future__ import annotations

import re

from autoparser.analysis.core.format import Text

from .entries import Place
from .string_notation import hostile_string, learn_text


def learn_key(place: Place) -> Text:
    """Learn how an object writes its keys; as they are, where nothing shows it.

    The quotes around a key are a part of its entry's row. With `key="K"` for the key `K`, and
    `key="a&amp;b"` for `a&b`, the key's own text is what stands where `K` stood.
    """
    marks = place.sentinels
    word = marks.keys[1]
    plain, value = marks.keys[0], marks.values[0]
    shown = place.site({plain: value})
    if shown is None or plain not in shown:
        return Text()
    first, *others = (re.escape(piece) for piece in shown.split(plain))
    # Some formats write a key twice: `<K>value</K>`.
    around = re.compile("(?P<key>.*)".join((first, "(?P=key)".join(others))), re.DOTALL)

    def written(key: str) -> str | None:
        text = place.site({key: value})
        match = None if text is None else around.fullmatch(text)
        return None if match is None else match["key"]

    inside = written(hostile_string(word))
    text = None if inside is None else learn_text(inside, word, written)
    return text or Text()
