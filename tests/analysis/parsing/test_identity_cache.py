"""What is made of a format is kept, and never mistaken."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from autoparser.analysis.parsing.turn_request import IdentityCache


def counted(made: list[int]) -> Callable[[], int]:
    def make() -> int:
        made.append(len(made))
        return made[-1]

    return make


def test_it_is_made_once_for_an_object_and_a_key() -> None:
    kept: IdentityCache[int] = IdentityCache(8)
    made: list[int] = []
    # Equal, and not the same: a format cannot be compared quickly, or hashed.
    one, other = {"a": 1}, {"a": 1}
    assert [kept.of((one,), key, counted(made)) for key in "xxy"] == [0, 0, 1]
    assert kept.of((other,), "x", counted(made)) == 2
    assert kept.of((one, other), "x", counted(made)) == 3
    assert kept.of((one,), "x", counted(made)) == 0


def test_the_oldest_goes_first() -> None:
    kept: IdentityCache[int] = IdentityCache(2)
    made: list[int] = []
    owner = object()
    for key in "xyxz":
        kept.of((owner,), key, counted(made))
    assert kept.of((owner,), "x", counted(made)) == 0
    assert kept.of((owner,), "y", counted(made)) == 3


def test_an_object_is_held_as_long_as_what_was_made_of_it() -> None:
    kept: IdentityCache[int] = IdentityCache(64)
    made: list[int] = []
    # Each would take the place in memory of the one before, were that not held.
    assert [kept.of(([at],), "", counted(made)) for at in range(50)] == list(range(50))


def test_nothing_that_was_made_is_a_value_like_any_other() -> None:
    kept: IdentityCache[int | None] = IdentityCache(2)
    made: list[int] = []
    owner = object()

    def make() -> None:
        made.append(1)

    assert kept.of((owner,), "", make) is None
    assert kept.of((owner,), "", make) is None
    assert made == [1]


def test_threads_get_the_same() -> None:
    kept: IdentityCache[object] = IdentityCache(4)
    owner = object()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: kept.of((owner,), "", object), range(200)))
    assert len(set(map(id, found))) == 1
