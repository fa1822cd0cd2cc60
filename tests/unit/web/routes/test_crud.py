"""POST of a resource of which a tenant has at most so many."""

from __future__ import annotations

from typing import Any, cast

import pytest

from daicho import Book, Domain
from daicho.declare.queries import TotalQuery
from daicho.declare.registry import Daicho
from daicho.errors import Conflict
from daicho.web.http.operation import Call
from daicho.web.routes.builder import build_operations
from tests.support.sample_domain import FakeBook, Label

THERE = 7
"""What the fake book says that there are."""


@pytest.mark.parametrize(("most", "taken"), [(THERE + 1, True), (THERE, False), (None, True)])
def test_post_is_refused_while_there_are_so_many(most: int | None, taken: bool) -> None:
    domain = Domain("labels", Label)
    domain.resource("/labels/{id}", Label, "POST", max_items=most)
    (post,) = (each for each in build_operations(Daicho(domain)) if each.method == "POST")
    book = FakeBook()
    call = Call(cast("Book", book), {"name": "blue"})
    answer: Any = post.variants[0].answer
    if taken:
        assert answer(call).status == 201
    else:
        with pytest.raises(Conflict, match="at most 7 of Label: delete one first"):
            answer(call)
        assert book.asked == [TotalQuery(Label, "count", (), ()), {"live": True}]
        assert book.items == {}
