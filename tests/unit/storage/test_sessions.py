"""Clients share a session, and are opened when they are used."""

from __future__ import annotations

from copy import copy

import pytest
from botocore.config import Config
from botocore.handlers import BUILTIN_HANDLERS

from daicho.storage import sessions
from daicho.storage.sessions import get_session, open_on_first_use


def test_a_session_is_shared_until_a_library_adds_hooks() -> None:
    first = get_session()
    assert get_session() is first
    hook = ("before-send", lambda **_: None)
    BUILTIN_HANDLERS.append(hook)
    try:
        assert get_session() is not first
    finally:
        BUILTIN_HANDLERS.remove(hook)


def test_a_client_that_is_not_opened_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_client(service: str, *_: object, **_named: object) -> str:
        opened.append(service)
        return "client"

    monkeypatch.setattr(sessions, "open_client", open_client)
    duplicate = copy(open_on_first_use("s3", Config()))
    assert opened == []
    assert duplicate.upper() == "CLIENT"
