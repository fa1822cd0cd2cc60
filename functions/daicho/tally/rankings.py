"""The places of totals in their rankings. Pure."""

from __future__ import annotations

from daicho.derive.contributions import Amount
from daicho.layout import item_keys
from daicho.plan import AggregatePlan, EntityPlan
from daicho.storage import keys
from daicho.storage.attributes import ItemKey
from daicho.tally.slots import TallyName


def build_ranking_key(
    name: TallyName, plan: EntityPlan, aggregate: AggregatePlan, amount: Amount
) -> ItemKey | None:
    """A total's place in its ranking, highest first and ties by member; None if it has none."""
    if not aggregate.ranked or amount.items <= 0:
        return None
    split = len(aggregate.within)
    within, by = name.parts[:split], name.parts[split:]
    return ItemKey(
        item_keys.render_ranking_partition(name.tenant, plan, aggregate, within, by),
        keys.render(keys.parse_inverted_score(amount.total), *by),
    )
