"""Clients of botocore. boto3 would add its own session and resources to the start of a function."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import botocore.session
from botocore.credentials import ContainerProvider, RefreshableCredentials
from botocore.handlers import BUILTIN_HANDLERS

from daicho.storage.sdk_data import make_loader

if TYPE_CHECKING:
    from botocore.config import Config
    from botocore.session import Session


_creation_lock = Lock()
"""A session creates one client at a time. Source: Boto3 documentation, "Multithreading"."""
_clients: WeakSet[Any] = WeakSet()
"""All clients that are in use."""
_EXPIRED = dt.datetime.fromtimestamp(0, dt.UTC)


def get_session() -> Session:
    """The session that all clients share: it reads the configuration and SDK data once.

    A session has the handlers that were built in when it was made. A test library adds its own,
    so there is a new session after that.
    """
    return _open_session(len(BUILTIN_HANDLERS))


def open_client(
    service: str, config: Config, *, endpoint: str | None = None, region: str | None = None
) -> Any:
    """A client of an AWS service; endpoint and region are those of the environment by default."""
    with _creation_lock:
        client = get_session().create_client(
            service,
            config=config,
            endpoint_url=endpoint,
            region_name=region,
        )
        _clients.add(client)
        return client


def close_connections() -> None:
    """Close the connections of all clients; the next request of a client opens a new one.

    Also that to the endpoint of the container's credentials. Deviation from the library: botocore
    keeps it open, and has no public way to close it.
    """
    with _creation_lock:
        clients = list(_clients)
    for client in clients:
        client.close()
    for provider in get_session().get_component("credential_provider").providers:
        if isinstance(provider, ContainerProvider):
            provider._fetcher._session.close()  # type: ignore[attr-defined]


def replace_credentials() -> None:
    """Fetch new credentials, although those of all clients may not have expired.

    Deviation from the library: botocore has no public way to do this, so the time of expiry is
    replaced, which is private. Permanent credentials stay as they are.

    Raises:
        botocore.exceptions.CredentialRetrievalError: there are no new ones.
    """
    credentials = get_session().get_credentials()
    if isinstance(credentials, RefreshableCredentials):
        credentials._expiry_time = _EXPIRED  # type: ignore[attr-defined]
        credentials.get_frozen_credentials()


@lru_cache(maxsize=1)
def _open_session(_handlers: int) -> Session:
    session = botocore.session.get_session()
    session.register_component("data_loader", make_loader(session))
    return session


def open_on_first_use(
    service: str, config: Config, *, endpoint: str | None = None, region: str | None = None
) -> Any:
    """A client that is opened when one of its methods is used first."""
    return _ClientOnFirstUse(lambda: open_client(service, config, endpoint=endpoint, region=region))


class _ClientOnFirstUse:
    def __init__(self, open_it: Callable[[], Any]) -> None:
        self._open = open_it
        self._client: Any = None
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        if name == "_lock":  # a copy is made without `__init__`, and asked for its hooks
            raise AttributeError(name)
        with self._lock:
            if self._client is None:
                self._client = self._open()
        return getattr(self._client, name)
