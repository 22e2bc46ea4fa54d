"""Values made of a format are cached by the format's identity."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

from autoparser.analysis.parsing.turn_request import IdentityCache


def test_a_value_is_made_once_for_objects_and_a_key_and_the_oldest_is_dropped() -> None:
    cache: IdentityCache[int | None] = IdentityCache(2)
    make = count().__next__
    # Equal, and not the same: a format cannot be compared quickly, or hashed.
    one, other = {"a": 1}, {"a": 1}
    asked = [((one,), "x"), ((one,), "x"), ((one,), "y"), ((one,), "x"), ((other,), "x")]
    assert [cache.of(*each, make) for each in asked] == [0, 0, 1, 0, 2]
    # The value used longest ago is gone.
    assert [cache.of(*each, make) for each in (((one,), "x"), ((one,), "y"))] == [0, 3]
    assert cache.of((one, other), "", lambda: None) is None
    assert cache.of((one, other), "", make) is None


def test_an_object_is_held_as_long_as_its_value() -> None:
    cache: IdentityCache[int] = IdentityCache(64)
    make = count().__next__
    # Each would take the place in memory of the one before, were that not held.
    assert [cache.of(([at],), "", make) for at in range(50)] == list(range(50))


def test_threads_get_the_same_value() -> None:
    cache: IdentityCache[object] = IdentityCache(4)
    owner = object()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.of((owner,), "", object), range(200)))
    assert len(set(map(id, found))) == 1
