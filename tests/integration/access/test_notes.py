"""Notes of one user are not shown to another one."""

from __future__ import annotations

import pytest

from daicho import Book, Caller
from daicho.declare.registry import Daicho
from daicho.errors import Forbidden, NotFound, Refusal
from daicho.plan import Ledger
from daicho.query.access import Access
from daicho.testing import MemoryDeployment
from examples.notes import Note, copy, domain

DAICHO = Daicho(domain)


def test_a_note_belongs_to_its_creator() -> None:
    deployment = MemoryDeployment(DAICHO.append_generations(Ledger()))

    def open_book(subject: str, *groups: str) -> Book:
        caller = Caller(subject, frozenset(groups), "acme")
        return deployment.open_book("acme", Access(caller, DAICHO.access_rules))

    note = open_book("mika").create(Note(text="Buy strings"))
    deployment.catch_up()
    assert note.owner == "mika"
    assert open_book("mika").page(Note.mine("mika")).items == [note]
    assert open_book("eye", "auditor").page(Note.search("str")).items == [note]

    yuki = open_book("yuki")
    with pytest.raises(NotFound):
        yuki.get(Note.key(note.id))
    with pytest.raises(Forbidden):
        yuki.page(Note.search("str"))
    assert yuki.caller
    with pytest.raises(Refusal, match="no Note"):
        copy(yuki, yuki.caller, note.id)
    open_book("mika").change(Note.key(note.id), {"sent_to": "yuki"})
    assert copy(yuki, yuki.caller, note.id).owner == "yuki"
