"""What a write reads besides its item."""

from __future__ import annotations

from daicho import Domain, Entity, Key, StoredObject, copied, field, ref, stored_object, uid
from daicho.declare.registry import Daicho
from daicho.plan import Ledger
from daicho_cli.cost.writes import EntityShape, describe_entities


class Poll(Entity):
    """A poll."""

    id: str = uid()
    shards: int = field(frozen=True)

    key = Key(id)


class Ballot(Entity):
    """A ballot, whose place depends on its poll."""

    poll: str = ref(Poll)
    voter: str = field()
    shards: int = copied(poll, Poll.shards)
    image: StoredObject = stored_object(max_bytes=10, types=("image/png",))

    key = Key(poll, voter, shards=shards)


def test_a_key_that_depends_on_another_item_is_seen_and_so_are_objects() -> None:
    polls = Daicho(Domain("polls", Poll, Ballot))
    shapes = describe_entities(polls.entities, polls.append_generations(Ledger()))
    ballot = EntityShape(copied={"shards": True}, keyed=True, object_fields=("image",))
    assert shapes["Ballot"] == ballot
    assert not shapes["Poll"].keyed
