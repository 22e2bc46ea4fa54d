"""Values made of a format are cached by the format's identity."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from autoparser.analysis.parsing.turn_request import IdentityCache


def test_a_value_is_made_once_for_an_object_and_a_key() -> None:
    cache: IdentityCache[int] = IdentityCache(8)
    make = count().__next__
    # Equal, and not the same: a format cannot be compared quickly, or hashed.
    one, other = {"a": 1}, {"a": 1}
    assert [cache.of((one,), key, make) for key in "xxy"] == [0, 0, 1]
    assert [cache.of(owners, "x", make) for owners in ((other,), (one, other), (one,))] == [2, 3, 0]


def test_the_value_used_longest_ago_is_dropped_first() -> None:
    cache: IdentityCache[int] = IdentityCache(2)
    make, owner = count().__next__, object()
    for key in "xyxz":
        cache.of((owner,), key, make)
    assert [cache.of((owner,), key, make) for key in "xy"] == [0, 3]


def test_an_object_is_held_as_long_as_its_value() -> None:
    cache: IdentityCache[int] = IdentityCache(64)
    make = count().__next__
    # Each would take the place in memory of the one before, were that not held.
    assert [cache.of(([at],), "", make) for at in range(50)] == list(range(50))


def test_none_is_a_cached_value_too() -> None:
    cache: IdentityCache[None] = IdentityCache(2)
    owner = object()
    assert cache.of((owner,), "", lambda: None) is None
    assert cache.of((owner,), "", lambda: pytest.fail("the value is made again")) is None


def test_threads_get_the_same_value() -> None:
    cache: IdentityCache[object] = IdentityCache(4)
    owner = object()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.of((owner,), "", object), range(200)))
    assert len(set(map(id, found))) == 1
