"""Everything that bounds what a client can ask of the server."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from lapwing.corpus import Hierarchy
from lapwing.errors import SettingsError
from lapwing.params import ServeParameters, described, parameter

LONGEST = 86_400  # seconds
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@described
@dataclass(frozen=True)
class ServeSettings(ServeParameters):
    """What bounds the server."""

    broader: Hierarchy | None = parameter(None, python="what is above which class, for requests that ask for it")

    def __post_init__(self) -> None:
        for name in ("max_body", "max_batch", "concurrency", "max_connections"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be 1 or more, got {getattr(self, name)!r}")
        for name in ("timeout", "reload_every", "grace"):
            if not 0 <= getattr(self, name) <= LONGEST:
                raise SettingsError(f"{name} must be 0 to {LONGEST} seconds, got {getattr(self, name)!r}")
        if not self.timeout > 0:
            raise SettingsError(f"timeout must be > 0 seconds, got {self.timeout!r}")
        if not 0 <= self.port < 65536:
            raise SettingsError(f"port must be between 0 and 65535, got {self.port!r}")
        if self.token is not None and (
            len(self.token) < 16 or not self.token.isascii() or not self.token.isprintable()
        ):
            raise SettingsError("the token must have 16 or more printable ASCII characters")
        if self.token is None and not is_loopback(self.host):
            raise SettingsError(f"listening on {self.host!r}, beyond the local host, needs a token")

    def admits(self, host: str) -> bool:
        """Whether a request for this Host header is for us: a page elsewhere cannot be made to reach us by its name."""
        name = host_name(host)
        if name is None:
            return False
        if name in LOOPBACK or name == self.host.lower() or name in {one.lower() for one in self.allowed_hosts}:
            return True
        if not _is_wildcard(self.host):
            return False
        return name == socket.gethostname().lower() or _is_address(name)


_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")


def host_name(header: str) -> str | None:
    """The host of a Host header, `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`; None for anything else."""
    name, separator, port = header.lower().rpartition(":")
    if not separator or name.endswith(":") or header.endswith("]"):
        name, separator, port = header.lower(), "", ""
    if separator and not (port.isascii() and port.isdecimal() and len(port) < 6 and int(port) < 65536):
        return None
    if name.startswith("[") and name.endswith("]"):
        return name[1:-1] if _is_address(name[1:-1]) and ":" in name else None
    return name if _NAME.fullmatch(name) else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    return host in LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_wildcard(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")
