"""What goes wrong between here and the Hub, each as one line that says what to do.

The HTTP library below `huggingface_hub` has changed twice (requests, httpx, httpx2) and is no
dependency of this package: its exceptions are known by the names of their classes.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass

from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNotFoundError,
    TemplateReadError,
)

__all__ = ["HubQuestion", "failure", "is_cut", "is_unreachable", "offline", "status_of"]

NO_ANSWER = frozenset({"TimeoutException"})
UNREACHABLE = frozenset(
    {"ConnectError", "ProxyError", "UnsupportedProtocol", "OfflineModeIsEnabled"}
)
CUT = frozenset({"RemoteProtocolError", "ReadError", "WriteError", "IncompleteRead"})

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
CLOSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


@dataclass(frozen=True, slots=True)
class HubQuestion:
    """What was asked of the Hub; an error says it."""

    repository: str
    revision: str | None = None
    file: str | None = None


def failure(error: BaseException, asked: HubQuestion) -> AutoparserError:
    """Return the error that says what this one means."""
    if isinstance(error, AutoparserError):
        return error
    return (
        _refused(error, asked)
        or _unreachable(error, asked)
        or _on_disk(error, asked)
        or TemplateReadError(
            f"the Hub's answer cannot be used ({_in_words(error)})",
            file=asked.repository,
            place=asked.file,
            hint=f"check that a Hub answers at {_endpoint()} (HF_ENDPOINT), or pass a local file",
        )
    )


def is_unreachable(error: BaseException) -> bool:
    """Whether there was no answer that counts: what the cache has is as good as it gets."""
    status = status_of(error)
    if status is not None:
        return status >= 500  # noqa: PLR2004 - the Hub's own failures
    return any(_names(each) & (NO_ANSWER | UNREACHABLE | CUT) for each in _chain(error))


def is_cut(error: BaseException) -> bool:
    """Whether the connection ended in the middle of an answer."""
    return any(_names(each) & (NO_ANSWER | CUT) for each in _chain(error))


def status_of(error: BaseException) -> int | None:
    """Return the status of the Hub's answer; None where the error is none."""
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415 - slow to import

    for each in _chain(error):
        if isinstance(each, HfHubHTTPError):
            return each.response.status_code
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Go from an error to those that caused it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _names(error: BaseException) -> frozenset[str]:
    return frozenset(kind.__name__ for kind in type(error).__mro__)


def _refused(error: BaseException, asked: HubQuestion) -> AutoparserError | None:
    """Read what the Hub answered."""
    status = status_of(error)
    if status is None:
        return None
    # One error may be several kinds; the narrowest comes first.
    names = frozenset(name for each in _chain(error) for name in _names(each))
    if "GatedRepoError" in names:
        return TemplateReadError(
            "this repository is gated, and you have no access to it",
            file=asked.repository,
            hint=f"ask for access at {_endpoint()}/{asked.repository}, then log in with"
            " 'hf auth login' or set HF_TOKEN",
        )
    if "DisabledRepoError" in names:
        return TemplateReadError(
            "the Hub has disabled this repository",
            file=asked.repository,
            hint="pass another one, or a local copy",
        )
    if "RevisionNotFoundError" in names:
        return TemplateNotFoundError(
            f"this repository has no revision {asked.revision or 'main'!r}",
            file=asked.repository,
            hint="give a branch, a tag or a commit of it with --revision",
        )
    if "RepositoryNotFoundError" in names:
        return TemplateNotFoundError(
            f"there is no file of this name, and no such repository on {_endpoint()}",
            file=asked.repository,
            hint="check the spelling; if the repository is private, log in with 'hf auth login' or"
            " set HF_TOKEN",
        )
    return _by_status(status, asked)


def _by_status(status: int, asked: HubQuestion) -> AutoparserError:
    hints = {
        401: ("the Hub refuses the token", "log in with 'hf auth login', or correct HF_TOKEN"),
        403: ("the Hub denies access", "use a token that may read this repository"),
        404: ("the Hub does not have it", "check the name and the revision"),
        429: ("the Hub is asked too often", "wait some minutes, or log in with 'hf auth login'"),
    }
    words, hint = hints.get(status, ("the Hub fails", "try again later, or pass a local file"))
    return TemplateReadError(
        f"{words} (status {status})", file=asked.repository, place=asked.file, hint=hint
    )


def _unreachable(error: BaseException, asked: HubQuestion) -> AutoparserError | None:
    kinds = [_names(each) for each in _chain(error)]

    def any_of(names: frozenset[str]) -> bool:
        return any(kind & names for kind in kinds)

    if any_of(frozenset({"OfflineModeIsEnabled"})):
        return offline(asked)
    if any_of(NO_ANSWER):
        words, hint = (
            f"{_endpoint()} did not answer in time",
            "check the network, or give it more time with HF_HUB_ETAG_TIMEOUT and"
            " HF_HUB_DOWNLOAD_TIMEOUT (seconds)",
        )
    elif any_of(UNREACHABLE):
        words, hint = (
            f"there is no file of this name, and {_endpoint()} cannot be reached",
            "check the network, the proxy and HF_ENDPOINT, or pass a local file",
        )
    elif any_of(CUT) or "Consistency check failed" in str(error):
        words, hint = (
            "the connection was cut in the middle",
            "try again; nothing of what was half there is kept",
        )
    else:
        return None
    return TemplateReadError(words, file=asked.repository, place=asked.file, hint=hint)


def offline(asked: HubQuestion) -> AutoparserError:
    """Say that nothing may be asked, and that the cache does not have it."""
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    return TemplateNotFoundError(
        f"there is no file of this name, and the cache at {constants.HF_HUB_CACHE} does not hold"
        f" this model at revision {asked.revision or 'main'!r}, while HF_HUB_OFFLINE forbids to"
        " ask the Hub",
        file=asked.repository,
        place=asked.file,
        hint="unset HF_HUB_OFFLINE, or run 'autoparser fetch' once while online",
    )


def _on_disk(error: BaseException, asked: HubQuestion) -> AutoparserError | None:
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    for each in _chain(error):
        if isinstance(each, OSError) and each.errno in FULL | CLOSED:
            full = each.errno in FULL
            words = "the disk is full" if full else "it may not be written to"
            return TemplateReadError(
                f"the Hub's cache cannot be written: {words} ({each.strerror})",
                file=asked.repository,
                place=str(each.filename or constants.HF_HUB_CACHE),
                hint="make room there, or set HF_HOME to another directory"
                if full
                else "set HF_HOME to a directory that may be",
            )
    return None


def _in_words(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _endpoint() -> str:
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    return constants.ENDPOINT
