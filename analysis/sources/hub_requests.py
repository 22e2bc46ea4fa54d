"""Read names and URLs of models on the Hub, retry requests, and translate failures to errors.

An error is one line that says what to do. The HTTP library below `huggingface_hub` has changed
twice (requests, httpx, httpx2) and need not be the one that this package uses itself (httpx2), so
its exceptions are recognized by the names of their classes.

A URL names a model, and it may name a revision and a file:

    https://huggingface.co/org/name
    https://huggingface.co/org/name/tree/REVISION
    https://huggingface.co/org/name/blob/REVISION/chat_template.jinja     (resolve and raw, too)

The Hub is the one that `huggingface_hub` is configured for (``HF_ENDPOINT``), by whose URL it may
be named as by huggingface.co. A slash in a revision is written ``%2F``, as the Hub's pages do.

Names, and what they are read as:

    hub_name("Qwen/Qwen3-8B")                ->  HubName("Qwen/Qwen3-8B")
    hub_name("org/name:Q4_K_M")              ->  HubName("org/name", tag="Q4_K_M")
    hub_name("org/name/sub/f-Q8_0.gguf")     ->  HubName("org/name", "sub/f-Q8_0.gguf")
    hub_name("missing.jinja")                ->  None, since it is a missing file
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from urllib.parse import unquote, urljoin, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNotFoundError,
    TemplateReadError,
)

NO_ANSWER = frozenset({"TimeoutException"})
"""Classes of errors, by name, of a Hub that does not answer in time."""
UNREACHABLE = frozenset(
    {"ConnectError", "ProxyError", "UnsupportedProtocol", "OfflineModeIsEnabled"}
)
CUT = frozenset({"RemoteProtocolError", "ReadError", "WriteError", "IncompleteRead"})
"""Classes of errors whose connection ended in the middle of a response."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
CLOSED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""Errors of a disk that may not be written to; those above are of a full one."""


class HubQuestion(Struct, frozen=True):
    """A request to the Hub, as errors describe it."""

    repository: str
    """E.g. `"Qwen/Qwen3-8B"`."""
    revision: str | None = None
    """A branch, tag or commit, e.g. `"v1.0"`, or None for `main`."""
    file: str | None = None
    """E.g. `"tokenizer_config.json"`, or None if no file was requested."""


def failure_error(error: BaseException, question: HubQuestion) -> AutoparserError:
    """Return the error that explains this one."""
    if isinstance(error, AutoparserError):
        return error
    return (
        _refusal_error(error, question)
        or _network_error(error, question)
        or _disk_error(error, question)
        or TemplateReadError(
            f"the Hub's answer cannot be used ({_error_words(error)})",
            file=question.repository,
            place=question.file,
            hint=f"check that a Hub answers at {_endpoint()} (HF_ENDPOINT), or pass a local file",
        )
    )


def is_unreachable(error: BaseException) -> bool:
    """Return whether the Hub gave no useful answer, so that the cache is the fallback."""
    status = response_status(error)
    if status is not None:
        return status >= 500  # noqa: PLR2004 - the Hub's own failures
    return any(_class_names(cause) & (NO_ANSWER | UNREACHABLE | CUT) for cause in _causes(error))


def is_cut(error: BaseException) -> bool:
    """Return whether the connection ended in the middle of a response."""
    return any(_class_names(cause) & (NO_ANSWER | CUT) for cause in _causes(error))


def response_status(error: BaseException) -> int | None:
    """Return the status of the Hub's response, or None if the error is not a response."""
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415 - slow to import

    for cause in _causes(error):
        if isinstance(cause, HfHubHTTPError):
            return cause.response.status_code
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that caused it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        # The cause of an error of huggingface_hub is an error of its HTTP library.
        error = error.__cause__ or error.__context__


def _class_names(error: BaseException) -> frozenset[str]:
    return frozenset(kind.__name__ for kind in type(error).__mro__)


def _refusal_error(error: BaseException, question: HubQuestion) -> AutoparserError | None:
    """Return the error for a refusal of the Hub, or None."""
    status = response_status(error)
    if status is None:
        return None
    # An error may be of several kinds; the narrowest comes first.
    names = frozenset(name for cause in _causes(error) for name in _class_names(cause))
    revision = question.revision or "main"
    refusals: dict[str, tuple[type[AutoparserError], str, str]] = {
        "GatedRepoError": (
            TemplateReadError,
            "this repository is gated, and you have no access to it",
            f"ask for access at {_endpoint()}/{question.repository}, then log in with"
            " 'hf auth login' or set HF_TOKEN",
        ),
        "DisabledRepoError": (
            TemplateReadError,
            "the Hub has disabled this repository",
            "pass another one, or a local copy",
        ),
        "RevisionNotFoundError": (
            TemplateNotFoundError,
            f"this repository has no revision {revision!r}",
            "pass one of its branches, tags or commits with --revision",
        ),
        "RepositoryNotFoundError": (
            TemplateNotFoundError,
            f"no such file, and no such repository on {_endpoint()}",
            "check the spelling; if the repository is private, log in with 'hf auth login' or set"
            " HF_TOKEN",
        ),
    }
    for name, (kind, words, hint) in refusals.items():
        if name in names:
            return kind(words, file=question.repository, hint=hint)
    words, hint = _BY_STATUS.get(status, ("the Hub fails", "try again later, or pass a local file"))
    return TemplateReadError(
        f"{words} (status {status})", file=question.repository, place=question.file, hint=hint
    )


_BY_STATUS = {
    401: ("the Hub refuses the token", "log in with 'hf auth login', or correct HF_TOKEN"),
    403: ("the Hub denies access", "use a token that may read this repository"),
    404: ("the Hub does not have it", "check the name and the revision"),
    429: ("too many requests to the Hub", "wait some minutes, or log in with 'hf auth login'"),
}


def _network_error(error: BaseException, question: HubQuestion) -> AutoparserError | None:
    kinds = [_class_names(cause) for cause in _causes(error)]

    def any_of(names: frozenset[str]) -> bool:
        return any(kind & names for kind in kinds)

    if any_of(frozenset({"OfflineModeIsEnabled"})):
        return offline_error(question)
    if any_of(NO_ANSWER):
        words, hint = (
            f"{_endpoint()} did not answer in time",
            "check the network, or give it more time with HF_HUB_ETAG_TIMEOUT and"
            " HF_HUB_DOWNLOAD_TIMEOUT (seconds)",
        )
    elif any_of(UNREACHABLE):
        words, hint = (
            f"no such file, and {_endpoint()} cannot be reached",
            "check the network, the proxy and HF_ENDPOINT, or pass a local file",
        )
    elif any_of(CUT) or "Consistency check failed" in str(error):
        words, hint = (
            "the connection was cut in the middle",
            "try again; partial files are deleted",
        )
    else:
        return None
    return TemplateReadError(words, file=question.repository, place=question.file, hint=hint)


def offline_error(question: HubQuestion) -> AutoparserError:
    """Return the error that the Hub may not be asked and the cache does not have it."""
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    return TemplateNotFoundError(
        f"no such file, and the cache at {constants.HF_HUB_CACHE} does not have"
        f" this model at revision {question.revision or 'main'!r}, while HF_HUB_OFFLINE forbids"
        " requests to the Hub",
        file=question.repository,
        place=question.file,
        hint="unset HF_HUB_OFFLINE, or run 'autoparser fetch' once while online",
    )


def _disk_error(error: BaseException, question: HubQuestion) -> AutoparserError | None:
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in FULL | CLOSED:
            full = cause.errno in FULL
            words = "the disk is full" if full else "no write access"
            return TemplateReadError(
                f"the Hub's cache cannot be written: {words} ({cause.strerror})",
                file=question.repository,
                place=str(cause.filename or constants.HF_HUB_CACHE),
                hint="make room there, or set HF_HOME to another directory"
                if full
                else "set HF_HOME to a writable directory",
            )
    return None


def _error_words(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _endpoint() -> str:
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    return constants.ENDPOINT


# `huggingface_hub` retries parts of a download, but neither the first request about a repository
# nor a download that begins with an error of the Hub, so these are retried here.


Answer = TypeVar("Answer")

BUSY = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of answers after which the same request may succeed."""

WAITS = (0.5, 1.0, 2.0)
"""Seconds before the second, third and fourth attempt, if the Hub does not say."""

LONGEST_WAIT = 20.0
"""Seconds that are waited at most if the Hub asks for more."""


def ask_patiently(ask: Callable[[], Answer]) -> Answer:
    """Send a request, up to four times if the Hub answers that it is busy or fails."""
    for usual in WAITS:
        try:
            return ask()
        except Exception as error:
            wait = _seconds_to_wait(error, usual)
            if wait is None:
                raise
        time.sleep(wait)
    return ask()


def _seconds_to_wait(error: Exception, usual: float) -> float | None:
    """Return the seconds to wait, or None if waiting does not help."""
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError  # noqa: PLC0415

    # These errors come after the library's own retries.
    if isinstance(error, LocalEntryNotFoundError) or response_status(error) not in BUSY:
        return None
    if isinstance(error, HfHubHTTPError):
        wait_text = error.response.headers.get("Retry-After", "")
        if wait_text.isdigit():
            return min(float(wait_text), LONGEST_WAIT)
    return usual


@contextmanager
def guarded_library() -> Generator[None]:
    """Let the library use no answer that leads elsewhere, and print no messages of its own.

    Raises TemplateReadError for such an answer.
    """
    from huggingface_hub import constants, get_session  # noqa: PLC0415 - slow to import

    # The library has one client for the whole process, so a hook stays, and judges only while
    # a request of this package runs.
    client, unjudged = get_session(), _judging.set(True)
    hooks = client.event_hooks
    if _judge_answer not in hooks["response"]:
        client.event_hooks = {**hooks, "response": [*hooks["response"], _judge_answer]}
    # The Xet store has its own client, which would follow addresses without these checks.
    stored, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
    try:
        with _quiet_library():
            yield
    finally:
        constants.HF_HUB_DISABLE_XET = stored
        _judging.reset(unjudged)


_judging: ContextVar[bool] = ContextVar("judging", default=False)
"""Whether an answer is to a request of this package; a program that uses it may have others."""

_SAFE_TAG = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.+=:-]{0,127}")
_SAFE_COMMIT = re.compile(r"[0-9a-f]{40,64}")


def _judge_answer(response: Any) -> None:
    """Raise TemplateReadError for an answer that would have a file written or fetched elsewhere.

    The library makes the name of a file of its cache from the tag and the commit of an answer, as
    they are: `../../../name` leads out of the cache. Facts from the wheel huggingface_hub 2.4.0,
    `file_download.py`.
    """
    if not _judging.get():
        return
    headers = response.headers
    tags = [headers.get(name, "") for name in ("X-Linked-ETag", "ETag")]
    # A weak tag is written `W/"…"`.
    for tag in (raw_tag.lstrip("W/").strip('"') for raw_tag in tags if raw_tag):
        if not _SAFE_TAG.fullmatch(tag):
            raise _distrust_error(f"the Hub's answer has {tag[:60]!r} as the tag of a file")
    commit = headers.get("X-Repo-Commit", "")
    if commit and not _SAFE_COMMIT.fullmatch(commit):
        raise _distrust_error(f"the Hub's answer has {commit[:60]!r} as a commit")
    # The library follows redirects and the pages of a list.
    followed = [("redirects to", headers["Location"])] if "Location" in headers else []
    followed += [("continues a list at", link["url"]) for link in response.links.values()]
    for words, address in followed:
        target = urljoin(str(response.url), address)
        if not leads_to_hub(target):
            raise _distrust_error(f"the Hub {words} {target[:80]!r}")


def leads_to_hub(target: str) -> bool:
    """Return whether a Hub may redirect to this URL: to its file store, in whatever network.

    A Hub on the internet has no business in the network here, whose servers trust who is in it. A
    name that is resolved by a proxy alone is the proxy's affair.
    """
    endpoint, parsed = urlsplit(_endpoint()), urlsplit(target)
    if parsed.scheme != "https" and (parsed.scheme, endpoint.scheme) != ("http", "http"):
        return False
    # A Hub in a private network may redirect within it, one on this machine to this machine.
    allowed = {"global", *(_networks(endpoint.hostname) - {"other"})}
    return bool(parsed.hostname) and _networks(parsed.hostname) <= allowed


def _networks(host: str | None) -> set[str]:
    """Return the kinds of networks that a host's addresses are in; empty for an unknown host."""
    # Imported lazily: only a redirect needs it, and a local template has none.
    import socket  # noqa: PLC0415

    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    except (OSError, ValueError):
        return set()
    return {_network(getattr(address, "ipv4_mapped", None) or address) for address in addresses}


def _network(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if address.is_loopback:
        return "loopback"
    # Link-local addresses include the metadata services of clouds, which return secrets.
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return "other"
    return "global" if address.is_global else "private"


def _distrust_error(words: str) -> TemplateReadError:
    return TemplateReadError(
        words, hint=f"do not trust {_endpoint()}: check HF_ENDPOINT and the proxy"
    )


@contextmanager
def _quiet_library() -> Generator[None]:
    """Keep the library's messages off the terminal, unless `HF_HUB_VERBOSITY` is set."""
    import logging  # noqa: PLC0415 - as below

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


# A URL that was parsed as a path has only one slash left.
_URL = re.compile(r"https?:/+(?P<rest>.*)", re.IGNORECASE | re.DOTALL)

_HUB = "https://huggingface.co"
_PAGES = ("tree", "blob", "resolve", "raw")
"""The words before the revision: a folder of the model, or one of its files."""
_OTHERS = ("datasets", "spaces")
"""Other things than models on the Hub."""


def _named_in(url: str) -> HubName:
    """Read a URL. Raises TemplateNotFoundError if it is not one of a model on the Hub."""
    parts = _url_parts(url)
    # Try a model name of two words first, then of one; exactly two parts are always a model.
    pages = (at for at in (2, 1) if len(parts) > 2 and parts[at] in _PAGES)  # noqa: PLR2004
    at = next(pages, len(parts))
    repository, page = parts[:at], parts[at:]
    # The page, its revision, and a file that only some pages have.
    known = not page or (len(page) > 1 and (page[0] == "tree") == (len(page) == 2))  # noqa: PLR2004
    if not known or len(repository) not in (1, 2) or repository[0] in _OTHERS:
        raise _no_model(url)
    whole = hub_name("/".join(repository))
    if whole is None:
        raise _no_model(url)
    revision = page[1] if page else None
    return replace(whole, file="/".join(page[2:]) or None, revision=revision)


def _no_model(url: str) -> TemplateNotFoundError:
    return TemplateNotFoundError(
        "not the URL of a model or a file on the Hub",
        file=url,
        hint=f"give one such as {_HUB}/org/name, or {_HUB}/org/name/blob/main/chat_template.jinja",
    )


def _url_parts(url: str) -> list[str]:
    """Return the parts of the path after the Hub's own URL. Raises TemplateNotFoundError."""
    from huggingface_hub import constants  # noqa: PLC0415 - slow to import

    place, path = _split_url(url)
    # A URL of the public Hub is good for a mirror, too, which has the same names.
    for hub in (constants.ENDPOINT, _HUB):
        ours, prefix = _split_url(hub)
        if place == ours and path[: len(prefix)] == prefix:
            return [unquote(part) for part in path[len(prefix) :]]
    raise TemplateNotFoundError(
        f"this URL is not on the Hub at {constants.ENDPOINT}",
        file=url,
        hint="download the file and give its path, or set HF_ENDPOINT to the URL's Hub",
    )


def _split_url(url: str) -> tuple[str, list[str]]:
    """Return a URL's host and port, and the parts of its path."""
    match = _URL.match(url)
    try:
        parsed = urlsplit(f"//{match['rest'] if match else url}")
    except ValueError:
        raise _no_model(url) from None
    return parsed.netloc.lower(), [part for part in parsed.path.split("/") if part]


# Names of models on the Hub, by the rules of `huggingface_hub`.
#
# A repository is ``org/name``, or one word if it is older than organizations. A name with the
# suffix of a template file is a missing file, not a repository. A GGUF file of a repository is
# named as ``org/name/file.gguf``, or by its quantization, as ``org/name:Q4_K_M``.


_PART = r"[A-Za-z0-9_](?:[\w.\-]{0,94}[A-Za-z0-9_])?"
_NAME = re.compile(
    rf"(?P<repository>(?:{_PART}/)?{_PART})(?::(?P<tag>\w[\w.\-]*)|(?P<file>(?:/[^/\\]+)+\.gguf))?",
    re.ASCII,
)

GGUF = ".gguf"

_OF_FILES = (
    GGUF,
    ".j2",
    ".jinja",
    ".jinja2",
    ".json",
    ".py",
    ".template",
    ".tmpl",
    ".txt",
    ".yaml",
    ".yml",
)


class HubName(Struct, frozen=True):
    """A model on the Hub, or one of its files."""

    repository: str
    """E.g. `"Qwen/Qwen3-8B"`."""
    file: str | None = None
    """A file with templates, e.g. `"sub/chat_template.jinja"`, or None to choose by the
    repository's files."""
    tag: str | None = None
    """A part of a GGUF file's name, e.g. `"Q4_K_M"`, or None."""
    revision: str | None = None
    """The branch, tag or commit of a URL, e.g. `"v1.0"`, or None if the name has none."""

    @property
    def in_gguf(self) -> bool:
        """Whether the name is of a GGUF file."""
        return self.tag is not None or (self.file or "").endswith(GGUF)

    def at(self, revision: str | None) -> str | None:
        """Return the requested revision. Raises AutoparserError if the URL names another one."""
        if revision is not None and self.revision not in (None, revision):
            raise AutoparserError(
                f"the URL names the revision {self.revision!r}, but {revision!r} was asked for",
                file=self.repository,
                hint="leave one of them out",
            )
        return revision or self.revision


def hub_name(source: str) -> HubName | None:
    """Read a name; return None if it cannot be one of a model on the Hub.

    Raises TemplateNotFoundError for a URL that is of none.
    """
    if _URL.match(source):
        return _named_in(source)
    found = _NAME.fullmatch(source)
    if found is None:
        return None
    repository, file, tag = found["repository"], found["file"], found["tag"]
    # Otherwise an organization would be mistaken for a repository of one word.
    if file is not None and "/" not in repository:
        return None
    if repository.lower().endswith((*_OF_FILES, ".git")) or ".." in repository:
        return None
    return HubName(repository, None if file is None else file[1:], tag)
