"""The part of the table that bounds what a client can ask of the server."""

from __future__ import annotations

from dataclasses import dataclass

from lapwing.params.parameter import parameter

SERVER = "Solver and output"


@dataclass(frozen=True)
class ServeParameters:
    host: str = parameter("127.0.0.1", "Address to listen on.", group=SERVER)
    port: int = parameter(8000, "Port to listen on; 0 for any free one.", group=SERVER, least=0, most=65535)
    token: str | None = parameter(None, python="what a client must show; None only on the local host")
    allowed_hosts: tuple[str, ...] = parameter(
        (), "Host name to accept in requests; may be given several times.", group=SERVER, flag="allow-host",
        kind="several", python="names that may stand in the Host header, besides `host` and those of the local host",
    )  # fmt: skip
    max_body: int = parameter(2_000_000, "Largest request, in bytes.", group=SERVER, least=1)
    max_batch: int = parameter(256, "Most texts in one request.", group=SERVER, least=1)
    timeout: float = parameter(
        10.0, "Time limit of a request, in seconds.", group=SERVER,
        python="seconds from the first byte of a request to its answer",
    )  # fmt: skip
    concurrency: int = parameter(
        32, "Requests handled at a time; others get 503 and Retry-After.", group=SERVER, least=1
    )
    max_connections: int = parameter(
        1000, "Connections held open, half for any one address; fewer where `ulimit -n` is low.", group=SERVER, least=1
    )
    reload_every: float = parameter(
        1.0, "Seconds between checks whether model files have changed; 0 for never.", group=SERVER
    )
    grace: float = parameter(10.0, "Seconds that running requests get at shutdown.", group=SERVER)
