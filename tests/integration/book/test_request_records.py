"""Requests under an Idempotency-Key of several subjects."""

from __future__ import annotations

import pytest

from daicho.errors import Invalid
from daicho.write.idempotency import IdempotentRequest, StoredAnswer
from tests.support.sample_entities import Note, Shelf

DONE = StoredAnswer(200, {}, "done")


def asked(body: str = "{}", subject: str = "mika") -> IdempotentRequest:
    return IdempotentRequest.from_http("k", "POST", "/", {}, body, subject)


def test_subjects_that_use_one_key_are_independent(shelf: Shelf) -> None:
    def create(subject: str, body: str = "{}") -> str | None:
        book = shelf.book()

        def make() -> StoredAnswer:
            return StoredAnswer(201, {}, book.create(Note()).id)

        return book.once(asked(body=body, subject=subject), make).body

    first = create("mika")
    shelf.tick(hours=23)
    others = {subject: create(subject, body=subject) for subject in ("yuki", "ren", "")}
    assert len({first, *others.values()}) == 4
    shelf.tick(hours=23)  # the first record would have expired, without the later ones
    assert {subject: create(subject, body=subject) for subject in others} == others
    with pytest.raises(Invalid):
        create("yuki", body="another")
    shelf.tick(hours=3)
    assert create("yuki", body="another") not in others.values()


def test_a_record_of_an_older_version_answers_every_subject(shelf: Shelf) -> None:
    book = shelf.book()
    first = book.once(asked(), lambda: StoredAnswer(201, {}, book.create(Note()).id))
    (record,) = [item for item in shelf.everything() if "request" in item]
    shelf.table.put({name: value for name, value in record.items() if name != "subject"})
    for subject in ("mika", "yuki"):
        assert shelf.book().once(asked(subject=subject), lambda: DONE) == first
    shelf.tick(hours=24)
    assert shelf.book().once(asked(subject="yuki"), lambda: DONE) == DONE
