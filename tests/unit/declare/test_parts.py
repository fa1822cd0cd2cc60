"""What a declaration takes as a part: fields, and nothing else."""

from daicho import Aggregate, Entity, Key, Sum, uid
from tests.support.sample_declarations import refused


def test_a_default_that_stands_for_no_field_is_refused() -> None:
    with refused("a Key's shards are a number or a field"):

        class C(Entity):
            id: str = uid()
            note: str | None = None
            key = Key(id, shards=note)

    with refused("a declaration takes fields; None is none"):

        class D(Entity):
            id: str = uid()
            note: str | None = None
            key = Key(id)
            total = Aggregate(Sum(note))
