"""A Hub on loopback with models, commits and branches; it keeps its requests, and fails on demand.

Large files live after a redirect to another host name, as on the Hub, where no token may go.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = 4096
"""Files of so many bytes are stored apart."""


def commit_of(files: Mapping[str, bytes]) -> str:
    """Return the commit of these contents."""
    return hashlib.sha1(repr(sorted(files.items())).encode(), usedforsecurity=False).hexdigest()


class RefusalError(Exception):
    """An answer without a body: its status, the code and the words of the Hub, more headers."""


@dataclass
class Model:
    branches: dict[str, dict[str, bytes]]
    gated: bool = False
    private: bool = False

    def files_at(self, revision: str) -> dict[str, bytes]:
        for name, files in self.branches.items():
            if revision in (name, commit_of(files)):
                return files
        raise RefusalError(404, "RevisionNotFound", f"Invalid rev id: {revision}")


@dataclass
class Fault:
    """The failure of the next requests whose line matches."""

    pattern: str = ""
    times: int = 0
    status: int | None = None
    """The status that is answered instead."""
    keep: int | None = None
    """How many bytes of the body are sent before the connection ends."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    hang: float = 0
    """Seconds before anything is answered."""


@dataclass
class Request:
    line: str
    range: str | None
    token: str | None
    sent: int = 0
    """Bytes of the body that were sent."""


@dataclass
class Hub:
    """The state of a server."""

    endpoint: str = ""
    models: dict[str, Model] = field(default_factory=dict[str, Model])
    moved: dict[str, str] = field(default_factory=dict[str, str])
    listed: dict[str, str] = field(default_factory=dict[str, str])
    """Other names in listings, for the names that there are."""
    faults: list[Fault] = field(default_factory=list[Fault])
    requests: list[Request] = field(default_factory=list[Request])
    ignores_ranges: bool = False
    more_commits: str = ""
    """The address of the next page of a list of commits."""
    stopped: threading.Event = field(default_factory=threading.Event)

    def add(self, repository: str, files: Mapping[str, bytes | str], **options: Any) -> str:
        """Add a model with one branch; return its commit."""
        contents = {
            name: content if isinstance(content, bytes) else content.encode()
            for name, content in files.items()
        }
        self.models[repository] = Model({"main": contents}, **options)
        return commit_of(contents)

    def fail(self, pattern: str, times: int = 1, **how: Any) -> None:
        """Let the next requests fail whose ``METHOD path`` the pattern is found in."""
        self.faults.append(Fault(pattern, times, **how))

    def fault_of(self, line: str) -> Fault:
        """Return the fault of a request, an empty one if none is left that matches."""
        left = [fault for fault in self.faults if fault.times and re.search(fault.pattern, line)]
        for fault in left[:1]:
            fault.times -= 1
        return (*left, Fault())[0]

    def model(self, name: str, token: str | None) -> Model:
        """Return the model that is asked for with a token. Raises RefusalError."""
        if token == "wrong":
            raise RefusalError(401, "", "Invalid credentials in Authorization header")
        model = self.models.get(name)
        if model is None or (model.private and token != "good"):
            # Without a token, the Hub does not reveal whether a repository exists.
            raise RefusalError(404 if token else 401, "RepoNotFound", "Repository not found")
        return model

    @property
    def lines(self) -> list[str]:
        """The requests so far."""
        return [request.line for request in self.requests]


@contextmanager
def running_hub() -> Generator[Hub]:
    """Run a Hub."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, hub))
    server.daemon_threads = True
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, hub: Hub, *connection: Any) -> None:
        self.hub = hub
        super().__init__(*connection)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is declared
        del format, args

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ") or None
        path = urlsplit(self.path).path
        self.question = Request(f"{self.command} {unquote(path)}", self.headers.get("Range"), token)
        self.fault = Fault()
        if path == "/api/agent-harnesses":
            # Under some programs, the library itself requests this once a day.
            self.answer(404, b"", {})
            return
        self.hub.requests.append(self.question)
        self.fault = self.hub.fault_of(self.question.line)
        self.hub.stopped.wait(self.fault.hang)
        if self.fault.status is not None:
            self.answer(self.fault.status, self.fault.body, self.fault.headers)
            return
        name, place, rest = path.removeprefix("/api/models")[1:].partition("/resolve/")
        if not place:
            name, place, rest = name.partition("/revision/")
        try:
            if path.startswith("/cdn/"):
                self.give_stored(path.removeprefix("/cdn/"))
            elif unquote(name) in self.hub.moved:
                moved = path.replace(name, self.hub.moved[unquote(name)])
                self.answer(307, b"", {"Location": moved})
            elif "/commits/" in path:
                self.give_commits(unquote(name.partition("/commits/")[0]))
            elif path.startswith("/api/models/"):
                self.give_model(unquote(name), unquote(rest) or "main")
            else:
                # A revision's own slashes are escaped.
                revision, _, file = map(unquote, rest.partition("/"))
                self.give_file(unquote(name), revision, file)
        except RefusalError as refusal:
            status, code, words, *headers = refusal.args
            named = {"X-Error-Code": code} if code else {}
            self.answer(status, b"", {**dict(*headers), **named, "X-Error-Message": words})

    def give_model(self, name: str, revision: str) -> None:
        model = self.hub.model(name, self.question.token)
        files = model.files_at(revision)
        info = {
            "id": name,
            "sha": commit_of(files),
            "private": model.private,
            "gated": "manual" if model.gated else False,
            "siblings": [
                {"rfilename": self.hub.listed.get(file, file), "size": len(content)}
                for file, content in files.items()
            ],
        }
        self.answer(200, json.dumps(info).encode(), {"Content-Type": "application/json"})

    def give_commits(self, name: str) -> None:
        """List the branches as commits: the main one is the newest."""
        branches = self.hub.model(name, self.question.token).branches
        commits = [
            {
                "id": commit_of(files),
                "authors": [{"user": "ada"}],
                "date": "2026-11-20T10:00:00.000Z",
                "title": f"As in {branch}",
                "message": "",
            }
            for branch, files in branches.items()
        ]
        headers = {"Content-Type": "application/json"}
        if self.hub.more_commits:
            headers["Link"] = f'<{self.hub.more_commits}>; rel="next"'
        self.answer(200, json.dumps(commits).encode(), headers)

    def give_file(self, name: str, revision: str, file: str) -> None:
        token = self.question.token
        model = self.hub.model(name, token)
        if model.gated and token != "good":
            raise RefusalError(403 if token else 401, "GatedRepo", "Access is restricted")
        files = model.files_at(revision)
        headers = {"X-Repo-Commit": commit_of(files)}
        if file not in files:
            raise RefusalError(404, "EntryNotFound", "Entry not found", headers)
        content = files[file]
        digest = hashlib.sha256(content).hexdigest()
        if len(content) < LARGE:
            self.give_content(content, {**headers, "ETag": f'"{digest}"'})
            return
        linked = {"X-Linked-Size": str(len(content)), "X-Linked-ETag": f'"{digest}"'}
        elsewhere = self.hub.endpoint.replace("127.0.0.1", "localhost")
        self.answer(302, b"", {**headers, **linked, "Location": f"{elsewhere}/cdn/{digest}"})

    def give_stored(self, digest: str) -> None:
        branches = [
            branch for model in self.hub.models.values() for branch in model.branches.values()
        ]
        contents = [content for files in branches for content in files.values()]
        content = next(
            content for content in contents if hashlib.sha256(content).hexdigest() == digest
        )
        self.give_content(content, {"ETag": f'"{digest}"'})

    def give_content(self, content: bytes, headers: dict[str, str]) -> None:
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.question.range or "")
        if part is None or self.hub.ignores_ranges:
            self.answer(200, content, headers)
            return
        start, stop = int(part[1]), min(int(part[2] or len(content)) + 1, len(content))
        if start >= len(content):
            self.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(content)}"
        self.answer(206, content[start:stop], headers)

    def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if self.fault.keep is not None:
            self.close_connection = True
        self.end_headers()
        if self.command == "HEAD":
            return
        part = body[: self.fault.keep]
        try:
            self.wfile.write(part)
            self.question.sent = len(part)
        except OSError:
            # The client that requested the start of a large file has disconnected.
            self.close_connection = True
