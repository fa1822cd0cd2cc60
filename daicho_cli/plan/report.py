"""The result of ``daicho plan``: as text and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daicho.derive.contributions import MAX_GROUPS, MAX_ROWS
from daicho.plan.changes import Effect
from daicho_cli.contract.command import ContractCheck, ContractError, format_changes, render_check
from daicho_cli.cost.prices import Prices
from daicho_cli.cost.report import format_dollars
from daicho_cli.plan.changes import DeclarationChange, EntityChange
from daicho_cli.plan.items import SAMPLE_PAGES, FoundItems, ItemCount, ItemsRead
from daicho_cli.plan.rebuild import DEFAULT_RATE, EntityRebuild
from daicho_cli.plan.template import TemplateCheck
from daicho_cli.terminal import format_duration

NOTHING, REFUSED, CHANGES = 0, 1, 2
"""Exit codes: nothing changes; the deployment is refused, or the command could not run; it changes
something, or breaks clients."""


@dataclass(frozen=True)
class DeploymentPlan:
    """What a deployment of the checkout does.

    Args:
        table: its name; empty before the first deployment.
        refusals: why it is refused, in a sentence each, with the remedy.
        is_recorded: whether the table has the backfill items of all its entities.
        entities: those that change.
        waiting: the entities for whose event filter the deployment waits.
        rebuilds: of the entities that need one.
        read: what was read for the rebuilds; None if nothing was.
        prices: those of the rebuilds.
        region: of the stage; the price file may lack it, then the prices are of another Region.
        contract: the comparison with the committed API, or why there is none; None if the
            declarations are refused.
        notices: what happens to resources with data, as far as only CloudFormation can decide it.
    """

    table: str
    refusals: Sequence[str] = ()
    is_recorded: bool = True
    entities: Sequence[EntityChange] = ()
    waiting: Sequence[str] = ()
    rebuilds: Sequence[EntityRebuild] = field(default_factory=tuple)
    read: ItemsRead | None = None
    prices: Prices | None = None
    region: str = ""
    contract: ContractCheck | ContractError | None = None
    notices: Sequence[str] = ()

    def add_check(self, check: TemplateCheck) -> DeploymentPlan:
        """The plan with what the template does to resources with data."""
        return replace(self, refusals=[*self.refusals, *check.refusals], notices=check.notices)

    @property
    def is_breaking(self) -> bool:
        """Whether clients of the committed API may fail."""
        return isinstance(self.contract, ContractCheck) and self.contract.is_breaking

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        if self.refusals:
            return REFUSED
        return CHANGES if self.entities or self.is_breaking or self.notices else NOTHING


INDENT = "  "


def format_plan(plan: DeploymentPlan) -> str:
    """The whole plan."""
    return "\n".join(_list_lines(plan))


def format_count(items: ItemCount) -> str:
    """``302``, ``~302`` if it was estimated, ``>=302`` if the table may have more."""
    symbol = {"counted": "", "estimated": "~", "at least": ">="}[items.basis]
    return f"{symbol}{items.count:,}"


def _format_price(dollars: float) -> str:
    """An estimate in dollars."""
    text = format_dollars(dollars)
    return text if text.startswith("<") else f"~{text}"


def _format_pages(pages: int) -> str:
    return "1 page" if pages == 1 else f"{pages:,} pages"


def _list_lines(plan: DeploymentPlan) -> Iterator[str]:
    if not plan.table and not plan.refusals:
        yield "There is no table yet: this is the first deployment."
    elif not plan.is_recorded:
        yield (
            f"{plan.table} has items and no backfill items, so it is unknown which generations it "
            "has. All changes since the first generation are listed."
        )
    rebuilds = {rebuild.entity: rebuild for rebuild in plan.rebuilds}
    for change in plan.entities:
        yield from _list_entity_lines(change, rebuilds.get(change.entity))
    yield from _list_summary_lines(plan)
    if plan.contract is not None:
        yield from _list_contract_lines(plan.contract)
    yield from (f"notice: {notice}" for notice in plan.notices)
    yield from (f"refused: {refusal}" for refusal in plan.refusals)
    if not plan.refusals:
        number = len(plan.entities)
        changed = "1 entity changes" if number == 1 else f"{number or 'No'} entities change"
        yield f"{changed}. Nothing is refused."


def _list_entity_lines(change: EntityChange, rebuild: EntityRebuild | None) -> Iterator[str]:
    if change.is_new:
        yield f"{change.entity}  new, generation {change.after}"
        return
    yield f"{change.entity}  generation {change.before} -> {change.after}"
    if change.is_rolled_back:
        yield (
            f"{INDENT}the declarations equal generation {change.after}, like code that was rolled "
            f"back: instances that are newer do not include all items from then on"
        )
    elif not change.changes:
        yield f"{INDENT}no declaration derives anything else"
    width = max((len(each.change.declaration) for each in change.changes), default=0)
    for declaration in change.changes:
        yield from _list_declaration_lines(declaration, width)
    if rebuild is not None:
        yield from list_rebuild_lines(rebuild, change.after)
        yield from _list_archive_lines(change)


def _list_declaration_lines(declaration: DeclarationChange, width: int) -> Iterator[str]:
    change = declaration.change
    name = f"{change.declaration:<{width}}"
    yield f"{INDENT}{declaration.symbol} {name}  {declaration.description}"
    rest = f"{INDENT}{'':<{width + 4}}"
    routes = ", ".join(declaration.routes)
    answers = "answers" if len(declaration.routes) == 1 else "answer"
    if declaration.is_being_built and routes:
        yield f"{rest}! until it is complete, {routes} {answers} 503 being-built"
    elif declaration.is_being_built:
        yield f"{rest}! until it is complete, its queries fail with 503 being-built"
    elif change.effect is Effect.RESTARTED and routes:
        yield f"{rest}! {routes} {answers} without what was stored before"


def list_rebuild_lines(rebuild: EntityRebuild, generation: int) -> Iterator[str]:
    """The rebuild of an entity: its items, units, price and time, and what needs attention."""
    estimate, built = rebuild.estimate, ", ".join(rebuild.declarations)
    units = [
        f"~{count:,.0f} {what}"
        for count, what in (
            (estimate.touch_units, "write units of touches"),
            (estimate.row_units, "of index rows"),
            (estimate.count_units, "of aggregates"),
            (estimate.read_units, "read units"),
        )
        if round(count)
    ]
    price = f"{_format_price(estimate.dollars)}, {format_duration(estimate.seconds)}"
    detail = f": {', '.join(units)}; {price}" if units else ""
    yield f"{INDENT}rebuild of {built}: {format_count(rebuild.items)} items{detail}"
    check = rebuild.check
    together = (
        f"pass the limits ({MAX_ROWS} rows, {MAX_GROUPS} groups) only because what is declared and "
        "what retires count separately"
    )
    impossible = f"cannot be derived by generation {generation}. The rebuild leaves them"
    taken = (
        "have a unique value that an earlier item has. "
        "The rebuild is blocked until they are changed"
    )
    for found, problem in (
        (check.over_together, together),
        (check.impossible, impossible),
        (check.taken, taken),
        (check.expiring, "expire when the rebuild touches them"),
    ):
        if found.count:
            share = f"{found.count:,} of {check.checked:,} items that were checked"
            yield f"{INDENT}! {share} {problem}: {_format_keys(found)}"


def _list_archive_lines(change: EntityChange) -> Iterator[str]:
    """What becomes of aggregates that count items for ever, also those that expired before."""
    if change.archived:
        yield (
            f"{INDENT}then {', '.join(change.archived)} from the archive: reads all objects of "
            f"{change.entity}, and 1 read unit for each row of an older generation"
        )
    if change.unarchived:
        yield (
            f"{INDENT}! {', '.join(change.unarchived)} cannot become complete, because items of "
            'an earlier generation expired without the archive: declare on_expiry="subtract"'
        )


def _format_keys(found: FoundItems) -> str:
    keys = ", ".join(f"{key.pk} {key.sk}" for key in found.keys)
    left = found.count - len(found.keys)
    return f"{keys} and {left:,} more" if left else keys


def _list_summary_lines(plan: DeploymentPlan) -> Iterator[str]:
    if plan.waiting:
        yield (
            f"The deployment waits until the event filter of every shard knows: "
            f"{', '.join(plan.waiting)}."
        )
    if plan.read is None or plan.prices is None:
        return
    yield summarize_rebuilds(plan.rebuilds)
    yield describe_reading(plan.read, plan.prices)
    if plan.region not in ("", plan.prices.region):
        yield f"There are no prices of {plan.region}."
    if any(rebuild.items.basis == "at least" for rebuild in plan.rebuilds):
        yield "DynamoDB has not measured the table yet, so there may be more items than were read."


def describe_reading(read: ItemsRead, prices: Prices) -> str:
    """What an estimate was made from."""
    extent = "the whole table" if read.is_whole else "a sample"
    bound = "" if read.is_whole else f" (at most {SAMPLE_PAGES}; --scan reads all)"
    return (
        f"Estimated from {extent}: {read.scanned:,} items in {_format_pages(read.pages)}{bound}, "
        f"{read.units:,.1f} read units. Prices of {prices.region} of {prices.published}."
    )


def summarize_rebuilds(rebuilds: Sequence[EntityRebuild], rate: float = DEFAULT_RATE) -> str:
    """The items, the price and the time of all rebuilds, and the instance with the most units."""
    items = sum(rebuild.items.count for rebuild in rebuilds)
    dollars = sum(rebuild.estimate.dollars for rebuild in rebuilds)
    seconds = sum(rebuild.estimate.seconds for rebuild in rebuilds)
    symbol = "" if all(rebuild.items.basis == "counted" for rebuild in rebuilds) else "~"
    summary = (
        f"Rebuild: {symbol}{items:,} items, {_format_price(dollars)}, {format_duration(seconds)} "
        f"at {rate:,.0f} units/s."
    )
    instances = [
        (units, f"{rebuild.entity}.{name}@{since}")
        for rebuild in rebuilds
        for (name, since), units in rebuild.instance_units.items()
    ]
    if len(instances) <= 1:
        return summary
    units, most = max(instances)
    return f"{summary} Most expensive: {most}, ~{units:,.0f} write units."


def _list_contract_lines(contract: ContractCheck | ContractError) -> Iterator[str]:
    if isinstance(contract, ContractError):
        yield f"The API was not compared: {contract}"
    elif contract.changes:
        yield f"The API, compared with {contract.against}:"
        yield format_changes(contract.changes, INDENT)


def build_document(plan: DeploymentPlan) -> dict[str, Any]:
    """The plan as plain JSON values."""
    rebuilds = {rebuild.entity: rebuild for rebuild in plan.rebuilds}
    return {
        "exit_code": plan.exit_code,
        "table": plan.table or None,
        "recorded": plan.is_recorded,
        "refusals": list(plan.refusals),
        "notices": list(plan.notices),
        "entities": [
            _describe_entity(change, rebuilds.get(change.entity)) for change in plan.entities
        ],
        "waiting_for_filter": list(plan.waiting),
        "sample": _describe_sample(plan),
        "contract": _describe_contract(plan.contract),
    }


def _describe_entity(change: EntityChange, rebuild: EntityRebuild | None) -> dict[str, Any]:
    return {
        "entity": change.entity,
        "before": change.before or None,
        "after": change.after,
        "rolled_back": change.is_rolled_back,
        "changes": [_describe_change(each) for each in change.changes],
        "rebuild": None if rebuild is None else describe_rebuild(rebuild),
    }


def _describe_change(declaration: DeclarationChange) -> dict[str, Any]:
    change = declaration.change
    return {
        "declaration": change.declaration,
        "effect": change.effect.name.lower(),
        "sentence": f"{change.entity}.{change.declaration} {declaration.description}",
        "old": change.old or None,
        "new": change.new or None,
        "hides_data": change.effect.hides_data,
        "being_built": declaration.is_being_built,
        "routes": list(declaration.routes),
    }


def describe_rebuild(rebuild: EntityRebuild) -> dict[str, Any]:
    """The estimate of a rebuild, and what a check of the items found, as plain JSON values."""
    estimate, check = rebuild.estimate, rebuild.check
    return {
        "declarations": list(rebuild.declarations),
        "items": rebuild.items.count,
        "basis": rebuild.items.basis,
        "sampled": rebuild.sampled,
        **vars(estimate),
        "checked": check.checked,
        "over_limits_together": _describe_found(check.over_together),
        "not_derivable": _describe_found(check.impossible),
        "expiring": _describe_found(check.expiring),
        "not_unique": _describe_found(check.taken),
    }


def _describe_found(found: FoundItems) -> dict[str, Any]:
    return {"items": found.count, "keys": [{"PK": key.pk, "SK": key.sk} for key in found.keys]}


def _describe_sample(plan: DeploymentPlan) -> dict[str, Any] | None:
    if plan.read is None or plan.prices is None:
        return None
    read, prices = plan.read, plan.prices
    return {
        "whole": read.is_whole,
        "pages": read.pages,
        "items": read.scanned,
        "read_units": read.units,
        "region": prices.region,
        "prices": str(prices.published),
    }


def _describe_contract(contract: ContractCheck | ContractError | None) -> dict[str, Any] | None:
    if isinstance(contract, ContractError):
        return {"problem": str(contract)}
    return None if contract is None else render_check(contract)
