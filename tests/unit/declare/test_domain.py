"""Which resources of a domain can be limited in number."""

from __future__ import annotations

import pytest

from daicho import Aggregate, Count, Domain, Entity, Key, uid
from daicho.errors import DeclarationError
from tests.support.sample_domain import Label


class Uncounted(Entity):
    id: str = uid()

    key = Key(id)
    of_id = Aggregate(Count(), id)


@pytest.mark.parametrize(
    ("entity", "verbs", "said"),
    [
        (Uncounted, "POST", r"needs a count of all items"),
        (Label, "POST PUT", "PUT creates items too"),
    ],
)
def test_what_cannot_be_limited(entity: type[Entity], verbs: str, said: str) -> None:
    domain = Domain("labels", Label, Uncounted)
    with pytest.raises(DeclarationError, match=said):
        domain.resource("/labels/{id}", entity, verbs, max_items=3)
