"""A proxy in front of a server, which tells it who asks, as in a shared deployment.

Browsers do not send a test's own headers when they open a web socket, so the proxy adds them to every request.
"""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

END = b"\r\n\r\n"


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Pass on all bytes until one side closes."""
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _with_headers(head: bytes, headers: dict[str, str]) -> bytes:
    """Return a request's head with more headers; its connection is closed after the answer, unless it becomes a web
    socket."""
    lines = head.split(b"\r\n")
    if not any(line.lower().startswith(b"upgrade:") for line in lines):
        lines = [line for line in lines if not line.lower().startswith((b"connection:", b"keep-alive:"))]
        lines.append(b"Connection: close")
    return b"\r\n".join([*lines, *(f"{name}: {value}".encode() for name, value in headers.items())]) + END


@contextmanager
def proxy(port: int, headers: dict[str, str]) -> Iterator[str]:
    """Yield the address of a proxy of a local server, which adds headers to every request."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            sent = b""
            while END not in sent:
                data = self.request.recv(65_536)
                if not data:
                    return
                sent += data
            head, _, body = sent.partition(END)
            with socket.create_connection(("localhost", port)) as behind:
                behind.sendall(_with_headers(head, headers) + body)
                back = threading.Thread(target=_pass_on, args=(behind, self.request), daemon=True)
                back.start()
                _pass_on(self.request, behind)
                back.join()

    class Proxy(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Proxy(("localhost", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()
