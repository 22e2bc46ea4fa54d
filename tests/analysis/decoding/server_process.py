"""A small server with `/v1/completions`, in a process of its own.

It answers at random, held to the GBNF that it is sent by the real grammar backend. What it was
asked goes to its standard error, a line of JSON a request; its port is its first line of output.
Arguments: what to do, the engine to be, and texts that close something, for chance to find out.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from autoparser.analysis.decoding.constraints import Constraint
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import RandomSampler, masked_walk
from tests.analysis.decoding.tokenizers_here import small

FIELDS = {
    "vllm": lambda body: body["structured_outputs"]["grammar"],
    "sglang": lambda body: body["ebnf"],
    "llama-server": lambda body: body["grammar"],
}
MODE, ENGINE, *CLOSERS = sys.argv[1:]
BACKEND = GrammarBackend(small())


def completion(body: dict[str, Any]) -> dict[str, Any]:
    grammar = FIELDS[ENGINE](body)
    sampler = RandomSampler(BACKEND.tokenizer, body["seed"], closers=CLOSERS)
    state = BACKEND.grammar(Constraint.ebnf(grammar))
    done = masked_walk(state, BACKEND.tokenizer, sampler, body["max_tokens"])
    text = "Hello." if MODE == "heedless" else done.text
    reason = "length" if MODE != "heedless" and not done.ended else "stop"
    answer: dict[str, Any] = {"choices": [{"index": 0, "text": text, "finish_reason": reason}]}
    # A server that heeds nothing does not say what it wrote either.
    return answer if MODE == "heedless" else {**answer, "usage": {"completion_tokens": 9}}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sys.stderr.write(json.dumps({"path": self.path, **body}) + "\n")
        sys.stderr.flush()
        status, answer = 200, b"<html>It works!</html>"
        match MODE:
            case "hang":
                time.sleep(30)
            case "error":
                status = 400
                answer = json.dumps({"error": {"message": "no such model:\n 'x'"}}).encode()
            case "html":
                pass
            case "empty":
                answer = b'{"choices": []}'
            case _:
                answer = json.dumps(completion(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing but what was asked."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
