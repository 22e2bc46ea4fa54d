"""llama.cpp's server in a process of its own: `… MODEL SLOTS [--jinja]`.

It prints its address and runs until its standard input closes, so that it never outlives a test.
"""

from __future__ import annotations

import sys

import xllamacpp

CONTEXT = 8192


def main(model: str, slots: int, jinja: str = "") -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.port = 0
    params.use_jinja = bool(jinja)
    params.n_ctx = CONTEXT * slots
    params.n_parallel = slots
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.fit_params = False
    params.n_threads_http = 2 * slots + 4
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - whoever started it reads it
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
