"""Measure what `autoparser serve` adds to each delta: `python -m tests.benchmarks.serve [STREAMS]`.

A backend sends pieces at an even pace, each with the time in it; the client subtracts that from
the time at which the piece has come, once of the backend itself and once through one process of
`serve`.
Backend, `serve` and client are processes of their own on one machine, whose clock they share.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time

import httpx2

from .measuring import ROOT, TEMPLATE, print_lines

PIECES = 50
PACE = 0.1
"""Seconds between two pieces of a stream."""
_TIME = re.compile(r"@(\d+\.\d+)@")


async def _complete(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"POST /completion "):
        writer.write(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()
        return
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    for _ in range(PIECES):
        text = f" @{time.monotonic():.6f}@ "
        writer.write(f"data: {json.dumps({'content': text})}\n\n".encode())
        await writer.drain()
        await asyncio.sleep(PACE)
    last = {"content": "", "stop": True, "stop_type": "eos"}
    writer.write(f"data: {json.dumps(last)}\n\n".encode())
    await writer.drain()
    writer.close()


async def _backend() -> None:
    server = await asyncio.start_server(_complete, "127.0.0.1", 0, backlog=512)
    # The one who started it reads this.
    print_lines([str(server.sockets[0].getsockname()[1])])
    await server.serve_forever()


async def _delays(url: str, streams: int) -> list[float]:
    """Read so many streams at the same time; return the delay of each delta in ms."""
    body = {"messages": [{"role": "user", "content": "Hello."}], "stream": True}
    delays: list[float] = []
    limits = httpx2.Limits(max_connections=streams)

    async with httpx2.AsyncClient(timeout=60, limits=limits, trust_env=False) as client:

        async def read() -> None:
            async with client.stream("POST", url, json=body) as answer:
                async for line in answer.aiter_lines():
                    sent = _TIME.findall(line)
                    delays.extend(1000 * (time.monotonic() - float(each)) for each in sent)

        await asyncio.gather(*(read() for _ in range(streams)))
    return delays


def main(streams: int) -> None:
    """Print the table."""
    out = subprocess.PIPE
    backend = subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.serve", "--backend"], cwd=ROOT, stdout=out
    )
    assert backend.stdout is not None
    address = f"http://127.0.0.1:{int(backend.stdout.readline())}"
    options = ["--server", address, "--engine", "llama-server", "--port", "0"]
    serve = subprocess.Popen(  # noqa: S603 - the interpreter that runs this
        [sys.executable, "-m", "autoparser", "serve", TEMPLATE, *options], cwd=ROOT, stderr=out
    )
    assert serve.stderr is not None
    try:
        root = serve.stderr.readline().decode().split(" ")[0]
        for name, url in (
            ("backend alone", f"{address}/completion"),
            ("through serve", f"{root}/chat/completions"),
        ):
            asyncio.run(_delays(url, 2))
            delays = asyncio.run(_delays(url, streams))
            cuts = statistics.quantiles(delays, n=100)
            figures = f"p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms"
            print_lines([f"{name}: {len(delays)} deltas, {figures}"])
    finally:
        for process in (serve, backend):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    if "--backend" in sys.argv:
        asyncio.run(_backend())
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
