"""Asking the Hub again where it was only busy, and without the library's own words.

`huggingface_hub` asks again for the parts of a download by itself; it does not for the first
question about a repository, nor where a download begins with an error of the Hub.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from .failures import status_of

__all__ = ["asked_patiently", "quietly"]

Answer = TypeVar("Answer")

BUSY = frozenset({408, 429, 500, 502, 503, 504})

WAITS = (0.5, 1.0, 2.0)
"""Seconds before the second, third and fourth attempt, if the Hub does not say."""

LONGEST_WAIT = 20.0


def asked_patiently(ask: Callable[[], Answer]) -> Answer:
    """Ask, up to four times where the Hub answers that it is busy or fails."""
    for usual in WAITS:
        try:
            return ask()
        except Exception as error:
            wait = _wait(error, usual)
            if wait is None:
                raise
        time.sleep(wait)
    return ask()


def _wait(error: Exception, usual: float) -> float | None:
    """Return the seconds to wait; None where waiting does not help."""
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415

    # By then the library has asked again itself.
    if isinstance(error, LocalEntryNotFoundError) or status_of(error) not in BUSY:
        return None
    if isinstance(error, HfHubHTTPError):
        told = error.response.headers.get("Retry-After", "")
        if told.isdigit():
            return min(float(told), LONGEST_WAIT)
    return usual


@contextmanager
def quietly() -> Generator[None]:
    """Keep the library's own words off the terminal, unless `HF_HUB_VERBOSITY` asks for them."""
    from huggingface_hub.utils import logging as hub_logging  # noqa: PLC0415 - slow to import

    if os.environ.get("HF_HUB_VERBOSITY") or os.environ.get("HF_DEBUG"):
        yield
        return
    before = hub_logging.get_verbosity()
    hub_logging.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        hub_logging.set_verbosity(before)
