"""How a probe asks a server: JSON over HTTP, bounded in time and size, redirects not followed.

Contract: what makes a server no server to probe (it cannot be reached, it is silent, it wants a
key, it sends one elsewhere) is a `ProbeError` with a way out. What it says to one request, a
refusal as well, is a `ServerReply`; its body is JSON or it is not.
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
from autoparser.analysis.core.errors import AutoparserError, one_line
from autoparser.analysis.templates.worker_pool import ClosedAtExit

SHOWN = 200
"""Characters of a server's own words that are shown."""
LARGEST = 32_000_000
"""Bytes of an answer; `/server_info` and a prompt's ids are far below."""
_NOT_THERE = (403, 404, 405, 501)
"""A server may forbid an endpoint that it was not started with."""


class ProbeError(AutoparserError):
    """A server cannot be probed."""


def checked_address(url: str, *, anywhere: bool) -> str:
    """Return the address without `/v1` at its end. Raises ProbeError.

    One beyond this machine is asked only with `anywhere`: a probe makes a model write, which may
    cost somebody money.
    """
    if "//" not in url and ":" not in url and not _is_this_machine(url):
        raise ProbeError("this is not a URL", file=url, hint="give http://127.0.0.1:PORT")
    parts = urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ProbeError(
            "this is not a server's address", file=url, hint="give http://127.0.0.1:PORT"
        )
    if not anywhere and not _is_this_machine(parts.hostname):
        raise ProbeError(
            "this is not an address of this machine, and a probe makes its model write",
            file=url,
            hint="add --yes if you may do that, or give http://127.0.0.1:PORT",
        )
    return parts.geturl().rstrip("/").removesuffix("/v1")


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class ServerReply:
    """What a server says to one request."""

    status: int
    text: str

    @property
    def offered(self) -> bool:
        """Whether there is such an endpoint."""
        return self.status not in _NOT_THERE

    @property
    def ok(self) -> bool:
        """Whether it does what was asked, and says so in JSON."""
        return self.status == HTTPStatus.OK and isinstance(self.value, dict)

    @cached_property
    def value(self) -> Json:
        """Its JSON; None where it is not JSON."""
        try:
            value: Json = json.loads(self.text)
        except ValueError:
            return None
        return value

    @property
    def object(self) -> Mapping[str, Json]:
        """Its JSON object; an empty one where it is not one."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def refusal(self) -> str:
        """Why it does not do what was asked, in its own words."""
        error = self.object.get("error", self.object.get("message", self.object.get("detail")))
        words = error.get("message") if isinstance(error, dict) else error
        cause = words if isinstance(words, str) else self.text
        return one_line(f"{self.status}: {cause.strip() or 'nothing'}", SHOWN)


class ProbeClient(ClosedAtExit):
    """One server, and how it is asked; a context that closes its connections."""

    def __init__(self, url: str, *, timeout: float, key: str = "") -> None:
        """Ask the server at a checked address; each request may take `timeout` seconds."""
        self.url = url
        self.requests = 0
        """How many were sent."""
        self._timeout = timeout
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # No connection is used twice: a server may close one just as it is asked again, after it
        # has failed above all, which no client can tell from a crash.
        alone = httpx2.Limits(max_keepalive_connections=0)
        # What the environment says of proxies is not for a server of this machine.
        self._client = httpx2.Client(
            timeout=timeout, headers=headers, limits=alone, follow_redirects=False, trust_env=False
        )

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def get(self, path: str) -> ServerReply:
        """Ask for what is there. Raises ProbeError."""
        return self._reply_to("GET", path, None)

    def post(self, path: str, body: Mapping[str, Json]) -> ServerReply:
        """Ask for something to be done. Raises ProbeError."""
        return self._reply_to("POST", path, body)

    def events(self, path: str, body: Mapping[str, Json]) -> list[Mapping[str, Json]] | ServerReply:
        """Ask for a stream, and return its events, or the refusal. Raises ProbeError."""
        reply = self._reply_to("POST", path, {**body, "stream": True})
        if reply.status != HTTPStatus.OK:
            return reply
        found = list(_events(reply.text))
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
        # What a server drips byte by byte is within every single wait, so the whole is bounded.
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
                        f"{path} answers with more than {LARGEST // 1_000_000} MB",
                        file=self.url,
                        hint="see what is behind this address",
                    )
        return ServerReply(answer.status_code, content.decode(errors="replace"))

    def _check(self, answer: httpx2.Response) -> None:
        if answer.is_redirect:
            where = one_line(answer.headers.get("location", "elsewhere"), SHOWN)
            raise ProbeError(
                f"sends one on to {where}, which is not followed",
                file=self.url,
                hint="give that address if it is the server",
            )
        if answer.status_code in (401, 407):
            raise self.locked(answer.status_code)

    def locked(self, status: int) -> ProbeError:
        """Return the error of a server that wants a key."""
        return ProbeError(
            f"wants a key ({status})",
            file=self.url,
            hint="give it with --api-key, or in AUTOPARSER_API_KEY",
        )

    def _silent(self) -> ProbeError:
        return ProbeError(
            f"does not answer within {self._timeout:g} seconds",
            file=self.url,
            hint="see whether it hangs, or give more with --server-timeout",
        )


def _events(text: str) -> Iterator[Mapping[str, Json]]:
    # Not at every line break of Unicode, which JSON may hold as they are.
    for line in text.split("\n"):
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if data:
            try:
                event: Json = json.loads(data)
            except ValueError:
                # What ends a stream is not JSON.
                continue
            if isinstance(event, dict):
                yield event
