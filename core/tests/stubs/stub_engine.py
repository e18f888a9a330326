"""A stand-in for an engine: a small HTTP server with the habits, good and bad, of real ones."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--name", default="stub")
    parser.add_argument("--load", type=float, default=0, help="seconds of 503 after listening")
    parser.add_argument("--bind-after", default="", help="listen only once this file exists")
    parser.add_argument("--print-mb", type=int, default=0)
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--grandchild", action="store_true", help="serve from a child process")
    parser.add_argument("--helper", default="", help="start a stubborn helper, its pid to this file")
    parser.add_argument("--reuse-port", action="store_true")
    parser.add_argument("--exit", type=int, default=None, help="end with this code at once")
    parser.add_argument("--limit-mb", type=int, default=0, help="RLIMIT_AS")
    parser.add_argument("--ports-log", default="", help="append every port and path asked for here")
    return parser.parse_args()


def serve(args: argparse.Namespace) -> None:
    began = time.monotonic()
    hoard: list[bytearray] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if args.ports_log:
                with open(args.ports_log, "a") as log:
                    log.write(f"{args.name} {args.port} {self.path}\n")
            if self.path.startswith("/grow/"):
                try:
                    hoard.append(bytearray(b"x") * (int(self.path.rpartition("/")[2]) << 20))
                except MemoryError:
                    print("MemoryError: the stub hit its limit", flush=True)
                    os.abort()
            loading = time.monotonic() - began < args.load
            body = {"name": args.name, "pid": os.getpid(), "ready": not loading}
            self.answer(503 if loading else 200, body)

        def answer(self, status: int, body: dict[str, object]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *values: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def server_bind(self) -> None:
            if args.reuse_port:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self.socket.bind(self.server_address)  # without a look-up of the host's name

    server = Server(("127.0.0.1", args.port), Handler, bind_and_activate=False)
    server.allow_reuse_address = False
    server.server_bind()
    server.server_activate()
    print(f"{args.name} listens on {args.port}", flush=True)
    threading.Thread(target=chatter, args=(args.print_mb,), daemon=True).start()
    server.serve_forever()


def chatter(megabytes: int) -> None:
    line = "a line of sixty-four bytes that an engine prints when it loads..\n"
    for number in range(megabytes * (1 << 20) // len(line)):
        sys.stdout.write(line if number % 2 else line.upper())
    if megabytes:
        print("the last line", flush=True)


def main() -> None:
    args = parse()
    if args.exit is not None:
        print("the stub ends at once", flush=True)
        sys.exit(args.exit)
    if args.limit_mb:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (args.limit_mb << 20, args.limit_mb << 20))
    if args.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if args.helper:
        code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        helper = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
        with open(args.helper, "w") as file:
            file.write(str(helper.pid))
    if args.grandchild:
        arguments = [a for a in sys.argv[1:] if a != "--grandchild"]
        sys.exit(subprocess.call([sys.executable, __file__, *arguments]))
    while args.bind_after and not os.path.exists(args.bind_after):
        time.sleep(0.02)
    serve(args)


main()
