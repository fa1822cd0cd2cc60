"""Contacts by the Python client of docs/how-to/generate-clients.md: daicho_client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import httpx
from daicho_client import AuthenticatedClient
from daicho_client.api.contacts import (
    change_contact,
    create_contact,
    create_contact_call,
    get_contact,
    list_contact_calls,
)
from daicho_client.models import (
    Call,
    CallPage,
    Contact,
    ContactChange,
    GatewayMessage,
    NewCall,
    NewContact,
    Problem,
)
from daicho_client.types import UNSET

T = TypeVar("T")


class ProblemError(Exception):
    """The API has answered with a problem document."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.status} {problem.title}: {problem.detail}")
        self.problem = problem


class GatewayError(Exception):
    """The gateway has refused the request: its token is not valid."""


def raise_if_busy(response: httpx.Response) -> None:
    """Raise 429 and 503, whose bodies are of two kinds: the client reads only one of them."""
    if response.status_code in (429, 503):
        response.raise_for_status()


def open_client(url: str, token: str) -> AuthenticatedClient:
    return AuthenticatedClient(
        base_url=url,
        token=token,
        timeout=httpx.Timeout(30.0),
        raise_on_unexpected_status=True,  # 5xx that the description does not have
        httpx_args={"event_hooks": {"response": [raise_if_busy]}},
    )


def expect(kind: type[T], answer: object) -> T:
    """The answer if it is of the kind; a problem is raised."""
    if isinstance(answer, Problem):
        raise ProblemError(answer)
    if isinstance(answer, GatewayMessage):
        raise GatewayError(answer.message)
    if not isinstance(answer, kind):
        raise TypeError(f"expected {kind.__name__}, got {answer!r}")
    return answer


def add_contact(client: AuthenticatedClient, name: str, idempotency_key: str) -> Contact:
    """Create a contact once, however often this is repeated with one key."""
    new = NewContact(name=name, company="Acme")
    answer = create_contact.sync(client=client, body=new, idempotency_key=idempotency_key)
    return expect(Contact, answer)


def read_contact(client: AuthenticatedClient, id: str) -> Contact:
    return expect(Contact, get_contact.sync(id, client=client))


def rename_contact(client: AuthenticatedClient, id: str, name: str) -> Contact:
    """Change a contact unless another change comes between the read and the write."""
    current = get_contact.sync_detailed(id, client=client)
    expect(Contact, current.parsed)
    change = ContactChange(name=name)
    etag = current.headers["ETag"]
    return expect(Contact, change_contact.sync(id, client=client, body=change, if_match=etag))


def add_call(client: AuthenticatedClient, contact: str, seconds: int) -> Call:
    call = NewCall(direction="in", seconds=seconds)
    return expect(Call, create_contact_call.sync(contact, client=client, body=call))


def list_calls(client: AuthenticatedClient, contact: str, limit: int = 100) -> Iterator[Call]:
    """All calls of a contact, page by page: the cursor of the last page is None."""
    cursor: str | None = None
    while True:
        answer = list_contact_calls.sync(
            contact, client=client, limit=limit, cursor=cursor or UNSET
        )
        page = expect(CallPage, answer)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return
