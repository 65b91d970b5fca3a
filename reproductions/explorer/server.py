"""Serve the explorer, by default on the loopback interface."""

from __future__ import annotations

import ipaddress
import socket

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from gluon_attn.errors import UsageError
from reproductions.explorer.app import Explorer


class _Quiet(WSGIRequestHandler):
    """A request handler that prints no log lines and closes idle connections."""

    timeout = 30

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return

    def log_error(self, format: str, *args: object) -> None:
        return


def is_loopback(host: str) -> bool:
    """Whether an address can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bind(app: Explorer, host: str, port: int) -> BaseWSGIServer:
    """Create a server, to be started with :meth:`serve_forever`; port 0 means any free port.

    Raises:
        UsageError: if the address or the port cannot be used.
    """
    try:
        # The socket is bound here because Werkzeug would print advice and exit the process if that fails.
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
            return make_server(host, port, app, threaded=True, request_handler=_Quiet, fd=free.fileno())
    except (OSError, OverflowError) as error:
        # The numbers of the resolver's errors are not those of the system. Python appends the address to the reason.
        reason = (getattr(error, "strerror", None) or str(error)).partition(" (while attempting")[0]
        raise UsageError(f"{host}, port {port}: {reason}; choose another with --port or --host") from None


def names_of(host: str) -> tuple[str, ...]:
    """The names by which a server on this address may be addressed, in addition to those of the loopback interface."""
    return () if is_loopback(host) else (host, socket.gethostname())


def address_of(server: BaseWSGIServer) -> str:
    """The URL of the server, for a browser."""
    host, port = server.server_address[:2]
    name = f"[{host!s}]" if ":" in str(host) else str(host)
    return f"http://{name}:{port}/"
