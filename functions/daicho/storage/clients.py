"""Clients of AWS, made by botocore from one session of this process.

boto3 adds nothing that the library uses, and takes a fifth of a client's start-up. All clients
share a session, so that the files which describe regions and endpoints are read once.
"""

from __future__ import annotations

import weakref
from functools import cache, cached_property
from threading import RLock
from typing import Any

import botocore.session
from botocore.config import Config

_lock = RLock()
"""A session makes one client at a time. Source: Boto3 documentation, "Multithreading"."""
_open_clients: weakref.WeakSet[Any] = weakref.WeakSet()


@cache
def get_session() -> botocore.session.Session:
    """The session of this process; its credentials and region are those of the environment."""
    return botocore.session.Session()


def create_client(
    service: str, config: Config, *, endpoint: str | None = None, region: str | None = None
) -> Any:
    """A client of a service; ``endpoint`` and ``region`` are by default the environment's."""
    with _lock:
        client = get_session().create_client(
            service, config=config, endpoint_url=endpoint, region_name=region
        )
        _open_clients.add(client)
        return client


def close_connections() -> None:
    """Close the connections of all clients. A client opens a new one with its next request."""
    for client in list(_open_clients):
        client.close()


class ClientOnFirstUse:
    """A client that is created when one of its operations is first called.

    A function that rarely needs a service does not pay for its client at the start, which takes
    50 ms of processor time. Threads may share it.
    """

    def __init__(
        self,
        service: str,
        config: Config,
        *,
        endpoint: str | None = None,
        region: str | None = None,
    ) -> None:
        """See `create_client`."""
        self._service, self._config = service, config
        self._endpoint, self._region = endpoint, region

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @cached_property
    def _client(self) -> Any:
        with _lock:
            if "_client" not in self.__dict__:
                self.__dict__["_client"] = create_client(
                    self._service, self._config, endpoint=self._endpoint, region=self._region
                )
            return self.__dict__["_client"]
