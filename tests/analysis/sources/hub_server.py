"""A Hub on loopback: what `huggingface_hub` asks for, answered as the Hub answers.

It has models with commits and branches, says what it was asked, and fails on demand. Large
files live after a redirect to another host name, as on the Hub, where the token must not go.
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
    digest = hashlib.sha1(usedforsecurity=False)
    for name, content in sorted(files.items()):
        digest.update(name.encode(errors="surrogateescape") + b"\0" + content + b"\0")
    return digest.hexdigest()


class RefusalError(Exception):
    """An answer without a body: its status, and the code and the words of the Hub."""

    def __init__(self, status: int, code: str, words: str, **headers: str) -> None:
        self.status = status
        named = {"X-Error-Code": code} if code else {}
        self.headers = {**headers, **named, "X-Error-Message": words}


@dataclass
class Model:
    """A repository: its branches, and who may read it."""

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
    """What goes wrong with the next requests whose line matches."""

    pattern: str
    times: int
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
    """A request that came."""

    line: str
    range: str | None
    token: str | None
    sent: int = 0
    """Bytes of the body that were sent."""


class Hub:
    """The state of a server."""

    def __init__(self) -> None:
        self.models: dict[str, Model] = {}
        self.moved: dict[str, str] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.endpoint = ""
        self.ignores_ranges = False
        self.listed: dict[str, str] = {}
        """Other names in listings, for the names that there are."""
        self.stopped = threading.Event()

    def add(self, repository: str, files: Mapping[str, bytes | str], **options: Any) -> str:
        """Add a model with one branch; return its commit."""
        contents = {
            name: each if isinstance(each, bytes) else each.encode() for name, each in files.items()
        }
        self.models[repository] = Model({"main": contents}, **options)
        return commit_of(contents)

    def fail(self, pattern: str, times: int = 1, **how: Any) -> None:
        """Let the next requests fail whose ``METHOD path`` the pattern is found in."""
        self.faults.append(Fault(pattern, times, **how))

    def fault_of(self, line: str) -> Fault:
        """Return what goes wrong with a request: nothing, if none is left that matches."""
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.pattern, line):
                fault.times -= 1
                return fault
        return Fault("", 0)

    def model(self, name: str, token: str | None) -> Model:
        """Return the model that is asked for with a token. Raises RefusalError."""
        if token == "wrong":
            raise RefusalError(401, "", "Invalid credentials in Authorization header")
        model = self.models.get(name)
        if model is None or (model.private and token != "good"):
            # Without a token the Hub does not say whether there is such a repository.
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
        self.fault = Fault("", 0)
        if path == "/api/agent-harnesses":
            # The library asks for this by itself, once a day, under some programs.
            self.answer(404, b"", {})
            return
        self.hub.requests.append(self.question)
        self.fault = self.hub.fault_of(self.question.line)
        self.hub.stopped.wait(self.fault.hang)
        if self.fault.status is not None:
            self.answer(self.fault.status, self.fault.body, self.fault.headers)
            return
        try:
            if path.startswith("/api/models/"):
                self.give_model(path.removeprefix("/api/models/"))
            elif path.startswith("/cdn/"):
                self.give_stored(path.removeprefix("/cdn/"))
            else:
                self.give_file(path[1:])
        except RefusalError as refusal:
            self.answer(refusal.status, b"", refusal.headers)

    def give_model(self, rest: str) -> None:
        name, slash, revision = map(unquote, rest.partition("/revision/"))
        if name in self.hub.moved:
            location = f"/api/models/{self.hub.moved[name]}{slash}{revision}"
            self.answer(307, b"", {"Location": location})
            return
        model = self.hub.model(name, self.question.token)
        files = model.files_at(revision or "main")
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

    def give_file(self, path: str) -> None:
        name, _, rest = path.partition("/resolve/")
        # A revision's own slashes are escaped.
        revision, _, file = map(unquote, rest.partition("/"))
        if name in self.hub.moved:
            location = f"/{self.hub.moved[name]}/resolve/{revision}/{file}"
            self.answer(307, b"", {"Location": location})
            return
        token = self.question.token
        model = self.hub.model(name, token)
        if model.gated and token != "good":
            raise RefusalError(403 if token else 401, "GatedRepo", "Access is restricted")
        files = model.files_at(revision)
        headers = {"X-Repo-Commit": commit_of(files)}
        if file not in files:
            raise RefusalError(404, "EntryNotFound", "Entry not found", **headers)
        content = files[file]
        digest = hashlib.sha256(content).hexdigest()
        if len(content) < LARGE:
            self.give_content(content, {**headers, "ETag": f'"{digest}"'})
            return
        linked = {"X-Linked-Size": str(len(content)), "X-Linked-ETag": f'"{digest}"'}
        elsewhere = self.hub.endpoint.replace("127.0.0.1", "localhost")
        self.answer(302, b"", {**headers, **linked, "Location": f"{elsewhere}/cdn/{digest}"})

    def give_stored(self, digest: str) -> None:
        models = self.hub.models.values()
        branches = [files for model in models for files in model.branches.values()]
        contents = [content for files in branches for content in files.values()]
        content = next(each for each in contents if hashlib.sha256(each).hexdigest() == digest)
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
            # Who asked for the start of a large file has gone.
            self.close_connection = True
