"""Runs the llama-server inside the wheel `xllamacpp` as a process of its own.

A program, not a module of the plugin: it imports nothing of ours, and takes the few llama-server flags that the plugin
passes to any llama-server.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from types import FrameType

import xllamacpp


def main() -> int:
    """Serve until SIGTERM or SIGINT, then close the server and return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--host", required=True)
    for flag in ("port", "ctx-size", "parallel", "threads", "threads-batch", "gpu-layers", "cache-ram"):
        parser.add_argument(f"--{flag}", type=int, required=True)
    flags = parser.parse_args()

    params = xllamacpp.CommonParams()
    params.model.path = flags.model
    params.hostnames = [flags.host]
    params.port = flags.port
    params.n_ctx = flags.ctx_size
    params.n_parallel = flags.parallel
    params.cpuparams.n_threads = flags.threads
    params.cpuparams_batch.n_threads = flags.threads_batch
    params.n_gpu_layers = flags.gpu_layers
    params.cache_ram_mib = flags.cache_ram
    params.kv_unified = False
    params.fit_params = False
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED

    stopped = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.set()

    server = xllamacpp.Server(params)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(f"serving {flags.model} at {server.listening_address}", flush=True)
    stopped.wait()
    del server
    return 0


if __name__ == "__main__":
    sys.exit(main())
