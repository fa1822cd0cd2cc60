"""What `daicho plan --json` prints: the plan as plain JSON values."""

from __future__ import annotations

from typing import Any

from daicho_cli.contract.report import render_check
from daicho_cli.plan.assessment import DeclarationChange, EntityChange
from daicho_cli.plan.deployment_plan import ContractResult, DeploymentPlan
from daicho_cli.plan.limits import FoundItems
from daicho_cli.plan.rebuild import EntityRebuild


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
        "rebuild": None if rebuild is None else _describe_rebuild(rebuild),
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


def _describe_rebuild(rebuild: EntityRebuild) -> dict[str, Any]:
    estimate, check = rebuild.estimate, rebuild.check
    return {
        "declarations": list(rebuild.declarations),
        "items": rebuild.items.count,
        "basis": rebuild.items.basis,
        "sampled": rebuild.sampled,
        "touch_units": estimate.touch_units,
        "row_units": estimate.row_units,
        "count_units": estimate.count_units,
        "read_units": estimate.read_units,
        "dollars": estimate.dollars,
        "seconds": estimate.seconds,
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


def _describe_contract(contract: ContractResult | None) -> dict[str, Any] | None:
    if contract is None:
        return None
    if contract.check is None:
        return {"problem": contract.problem}
    return render_check(contract.check)
