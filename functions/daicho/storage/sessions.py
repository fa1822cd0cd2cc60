"""Clients of botocore. boto3 would add its own session and resources to the start of a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.config import Config
from botocore.handlers import BUILTIN_HANDLERS

from daicho.storage.sdk_data import make_loader

if TYPE_CHECKING:
    from botocore.session import Session


_creation_lock = Lock()
"""A session creates one client at a time. Source: Boto3 documentation, "Multithreading"."""


def get_session() -> Session:
    """The session that all clients share: it reads the configuration and SDK data once.

    A session has the handlers that were built in when it was made. A test library adds its own,
    so there is a new session after that.
    """
    return _open_session(len(BUILTIN_HANDLERS))


def build_config(attempts: int, timeout: float = 5.0, **options: Any) -> Config:
    """How a client sends: at most so many attempts, each of a second and ``timeout`` at most.

    botocore 1.44 changed the default number of attempts. ``options``: further ones of a client.
    """
    retries: Any = {"mode": "standard", "total_max_attempts": attempts}
    return Config(retries=retries, connect_timeout=1.0, read_timeout=timeout, **options)


def open_client(
    service: str, config: Config, *, endpoint: str | None = None, region: str | None = None
) -> Any:
    """A client of an AWS service; endpoint and region are those of the environment by default."""
    with _creation_lock:
        return get_session().create_client(
            service,
            config=config,
            endpoint_url=endpoint,
            region_name=region,
        )


@lru_cache(maxsize=1)
def _open_session(_handlers: int) -> Session:
    session = botocore.session.get_session()
    session.register_component("data_loader", make_loader(session))
    return session


def open_on_first_use(
    service: str,
    config: Config,
    *,
    endpoint: str | None = None,
    region: str | None = None,
    wrap: Callable[[Any], Any] = lambda client: client,
) -> Any:
    """A client that is opened, and wrapped, when one of its methods is used first."""
    return _ClientOnFirstUse(
        lambda: wrap(open_client(service, config, endpoint=endpoint, region=region))
    )


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
