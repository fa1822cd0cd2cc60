"""A meter that assigns the units of each request to an entity and a kind of work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from daicho.storage import keys
from daicho.storage.requests import to_key_image
from daicho.tally.watermark import WATERMARK_KEY
from daicho_cli.cost.estimate import STACK, Work
from daicho_cli.cost.units import Units
from tests.support.meter import WRITES

Place = tuple[str, Work]
_WATERMARK = to_key_image(WATERMARK_KEY)


class CostMeter:
    """Counts the units of one DynamoDB client.

    Requests of users are counted for the entity and the kind of work that `working` names. Those
    of the projector and of the rollup are counted by the key that they name.
    """

    def __init__(self, client: Any) -> None:
        self.units: defaultdict[Place, Units] = defaultdict(Units)
        self._place: Place | None = None
        self._by_key = False
        events = client.meta.events
        events.register("provide-client-params.dynamodb.*", self._prepare)
        events.register("after-call.dynamodb.*", self._count)

    @contextmanager
    def working(self, entity: str, work: Work) -> Iterator[None]:
        """Count for an entity."""
        self._place, before = (entity, work), self._place
        yield
        self._place = before

    @contextmanager
    def processing(self, work: Work) -> Iterator[None]:
        """Count by key: the slots and rows of the projector, or the rollup's requests."""
        self._place, self._by_key = (STACK, work), True
        yield
        self._place, self._by_key = None, False

    def _prepare(self, params: dict[str, Any], model: Any, context: Any, **_: Any) -> Any:
        place = self._find_place(params) if self._by_key else self._place
        # An instance of the API reads it about once a minute, and here no minutes pass.
        context["place"] = None if params.get("Key") == _WATERMARK else place
        if "ReturnConsumedCapacity" in model.input_shape.members:
            return {**params, "ReturnConsumedCapacity": "TOTAL"}
        return params

    def _count(self, model: Any, parsed: dict[str, Any], context: Any, **_: Any) -> None:
        place = context.get("place")
        if place is None:
            return
        consumed = parsed.get("ConsumedCapacity") or []
        entries = [consumed] if isinstance(consumed, dict) else consumed
        units = sum(float(entry.get("CapacityUnits", 0.0)) for entry in entries)
        is_write = model.name in WRITES
        self.units[place] += Units(write=units) if is_write else Units(read=units)

    def _find_place(self, params: Mapping[str, Any]) -> Place | None:
        work: Work = "items" if self._place is None else self._place[1]
        tenant, name, *_ = (*keys.parse(_find_partition(params)), "", "")
        if not tenant:
            return STACK, "announcements" if name == "shard" else "rollups"
        entity = name.lstrip("~+*/").partition(".")[0]
        if name.startswith("~"):
            return entity, "rows"
        return entity, work


def _find_partition(params: Mapping[str, Any]) -> str:
    if "Statements" in params:  # one insert: see SingleInserts
        return str(params["Statements"][0]["Parameters"][0]["S"])
    for place in ("Item", "Key"):
        if place in params:
            return str(params[place]["PK"]["S"])
    return str(params["ExpressionAttributeValues"][":pk"]["S"])
