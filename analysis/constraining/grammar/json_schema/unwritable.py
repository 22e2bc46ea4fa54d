"""What no grammar can be written for."""

from __future__ import annotations

from autoparser.analysis.core.schema import UnheldKeywordError


def unwritable(keyword: str, pointer: str, why: str) -> UnheldKeywordError:
    """Return the error of a keyword that is legal but that no grammar here can express."""
    return UnheldKeywordError(
        f"{keyword} cannot be written as a grammar: {why}",
        pointer=pointer,
        keyword=keyword,
        hint="leave it out",
    )
