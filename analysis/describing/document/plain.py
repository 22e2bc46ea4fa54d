"""Values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping

from autoparser.analysis.core.conversation import Json


def plain(value: Json) -> Json:
    """Return a value as JSON can hold it: what is not a number in JSON is given by its name."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value


def plain_mapping(values: Mapping[str, Json]) -> dict[str, Json]:
    """Return the members of an object as JSON can hold them."""
    return {key: plain(value) for key, value in values.items()}
