"""The HTTP client of a probe: JSON, bounded in time and size; redirects are not followed.

Contract: a server that cannot be probed at all (unreachable, silent, locked by a key,
redirecting) is a `ProbeError` with a hint. Any response to a request, including a refusal, is a
`ServerReply`.

For example, an address in the form in which requests are sent:

    >>> checked_address("127.0.0.1:8000/v1", anywhere=False)
    'http://127.0.0.1:8000'
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx2

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import one_line
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_pool import ClosedAtExit

SHOWN = 200
"""Most characters of a server's own message that are shown."""
LARGEST = 32_000_000
"""Bytes of an answer; `/server_info` and a prompt's ids are far below."""
_NOT_THERE = (403, 404, 405, 501)
"""Statuses of an absent endpoint; a server may forbid one that it was not started with."""


class ProbeError(AutoparserError):
    """A server cannot be probed."""


def checked_address(url: str, *, anywhere: bool) -> str:
    """Return the address without `/v1` at its end. Raises ProbeError.

    One beyond this machine is asked only with `anywhere`: a probe makes a model write, which may
    cost somebody money.
    """
    # A word such as `vllm` is more likely a wrong argument than a host.
    if "//" not in url and ":" not in url and not _is_this_machine(url):
        raise ProbeError("not a URL", file=url, hint="give http://127.0.0.1:PORT")
    parts = urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ProbeError("not the address of a server", file=url, hint="give http://127.0.0.1:PORT")
    if not anywhere and not _is_this_machine(parts.hostname):
        raise ProbeError(
            "not an address of this machine, and a probe runs the server's model",
            file=url,
            hint="add --yes if you may do that, or use http://127.0.0.1:PORT",
        )
    return parts.geturl().rstrip("/").removesuffix("/v1")


def _is_this_machine(host: str) -> bool:
    try:
        # Other names are not resolved: the request would resolve them again, perhaps differently.
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class ServerReply:
    """The response of a server to one request."""

    status: int
    """The HTTP status, e.g. 200."""
    text: str
    """The body, e.g. `'{"data": []}'`."""

    @property
    def offered(self) -> bool:
        """Whether the server has the endpoint."""
        return self.status not in _NOT_THERE

    @property
    def ok(self) -> bool:
        """Whether the request succeeded, with a JSON object."""
        return self.status == HTTPStatus.OK and isinstance(self.value, dict)

    @cached_property
    def value(self) -> Json:
        """The decoded body, or None if it is not JSON."""
        try:
            value: Json = json.loads(self.text)
        except ValueError:
            return None
        return value

    @property
    def object(self) -> Mapping[str, Json]:
        """The decoded body if it is an object, else an empty one."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def refusal(self) -> str:
        """Why the server refuses, in its own words."""
        # OpenAI's form, then those of older vLLM and of FastAPI.
        error = self.object.get("error", self.object.get("message", self.object.get("detail")))
        words = error.get("message") if isinstance(error, dict) else error
        cause = words if isinstance(words, str) else self.text
        return one_line(f"{self.status}: {cause.strip() or 'nothing'}", SHOWN)


class ProbeClient(ClosedAtExit):
    """Sends requests to one server; a context manager that closes its connections."""

    def __init__(self, url: str, *, timeout: float, key: str = "") -> None:
        """Prepare requests to a checked address, each of at most `timeout` seconds."""
        self.url = url
        self.requests = 0
        """Number of requests sent."""
        self._timeout = timeout
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # No connection is reused: a server may close it at the moment of the next request, above
        # all after a failure, and a client cannot distinguish that from a crash.
        alone = httpx2.Limits(max_keepalive_connections=0)
        # Ignore the environment's proxies, which do not apply to a server on this machine.
        self._client = httpx2.Client(
            timeout=timeout, headers=headers, limits=alone, follow_redirects=False, trust_env=False
        )

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def get(self, path: str) -> ServerReply:
        """Send a GET request. Raises ProbeError."""
        return self._reply_to("GET", path, None)

    def post(self, path: str, body: Mapping[str, Json]) -> ServerReply:
        """Send a POST request. Raises ProbeError."""
        return self._reply_to("POST", path, body)

    def events(self, path: str, body: Mapping[str, Json]) -> list[Mapping[str, Json]] | ServerReply:
        """Request a stream; return its events, or the refusal. Raises ProbeError."""
        reply = self._reply_to("POST", path, {**body, "stream": True})
        if reply.status != HTTPStatus.OK:
            return reply
        found = list(_events(reply.text))
        # Without any event, the answer counts as a refusal.
        return found or reply

    def _reply_to(self, method: str, path: str, body: Mapping[str, Json] | None) -> ServerReply:
        self.requests += 1
        try:
            reply = self._read(method, path, body)
        except httpx2.TimeoutException as error:
            raise self._silent() from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProbeError(
                f"cannot be reached: {str(error) or type(error).__name__}",
                file=self.url,
                hint="start the server, or correct the address",
            ) from error
        return reply

    def _read(self, method: str, path: str, body: Mapping[str, Json] | None) -> ServerReply:
        # A server that sends byte by byte meets the timeout of every read, so the sum is bounded.
        until = time.monotonic() + self._timeout
        content = bytearray()
        with self._client.stream(method, f"{self.url}{path}", json=body) as answer:
            self._check(answer)
            for piece in answer.iter_bytes():
                content += piece
                if time.monotonic() > until:
                    raise self._silent()
                if len(content) > LARGEST:
                    raise ProbeError(
                        f"{path} returned more than {LARGEST // 1_000_000} MB",
                        file=self.url,
                        hint="check the address",
                    )
        return ServerReply(answer.status_code, content.decode(errors="replace"))

    def _check(self, answer: httpx2.Response) -> None:
        if answer.is_redirect:
            where = one_line(answer.headers.get("location", "elsewhere"), SHOWN)
            raise ProbeError(
                f"redirects to {where}, which is not followed",
                file=self.url,
                hint="use that address if it is the server's",
            )
        if answer.status_code in (401, 407):
            raise self.locked(answer.status_code)

    def locked(self, status: int) -> ProbeError:
        """Return the error of a server that wants a key."""
        return ProbeError(
            f"requires an API key ({status})",
            file=self.url,
            hint="pass it with --api-key, or in AUTOPARSER_API_KEY",
        )

    def _silent(self) -> ProbeError:
        return ProbeError(
            f"does not answer within {self._timeout:g} seconds",
            file=self.url,
            hint="check whether it hangs, or raise --server-timeout",
        )


def _events(text: str) -> Iterator[Mapping[str, Json]]:
    # Only at line feeds: JSON may contain other line breaks of Unicode unescaped.
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data:
            try:
                event: Json = json.loads(data)
            except ValueError:
                # `[DONE]`, which ends a stream, is not JSON.
                continue
            if isinstance(event, dict):
                yield event


class TextRefusedError(Exception):
    """The server refuses to read one text; the message is the reason."""
