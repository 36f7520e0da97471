"""How people reach a server: as its owner says, or by the machine's addresses with a word of warning."""

from __future__ import annotations

import socket
from contextlib import suppress

HERE_ONLY = (
    "This link works on this machine alone. Start the server with --host 0.0.0.0 for your own network, and say with "
    "--url how people elsewhere reach it."
)
OWN_NETWORK = (
    "This link has the machine's address in its own network. Where people come from elsewhere, say with --url how they "
    "reach the server, such as https://study.example.org."
)
SETTING = "server_url"  # of a storage: how people reach the server that uses it


def public_url(said: str, host: str, port: int) -> tuple[str, str | None]:
    """How people reach a server that listens there, and a warning where that is a guess."""
    if said:
        return said.rstrip("/"), None
    if host in ("127.0.0.1", "localhost", "::1"):
        return f"http://{_bracketed(host)}:{port}", HERE_ONLY
    if host in ("0.0.0.0", "::", ""):
        addresses = machine_addresses()
        return (f"http://{addresses[0]}:{port}", OWN_NETWORK) if addresses else (f"http://127.0.0.1:{port}", HERE_ONLY)
    return f"http://{_bracketed(host)}:{port}", OWN_NETWORK


def machine_addresses() -> list[str]:
    """The machine's IPv4 addresses in its networks, the one that leads out first."""
    found: list[str] = []
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # an address for documentation: no packet is sent, a route is chosen
        found.append(probe.getsockname()[0])
    with suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    return [address for address in dict.fromkeys(found) if not address.startswith("127.")]


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
