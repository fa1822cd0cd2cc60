"""The result of ``daicho plan``: everything that is printed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from daicho_cli.contract.committed import ContractCheck
from daicho_cli.cost.prices import Prices
from daicho_cli.plan.assessment import EntityChange
from daicho_cli.plan.item_reader import ItemsRead
from daicho_cli.plan.rebuild import EntityRebuild
from daicho_cli.plan.template_guard import TemplateCheck

NOTHING, REFUSED, CHANGES = 0, 1, 2
"""Exit codes: nothing changes; the deployment is refused, or the command could not run; it changes
something, or breaks clients."""


@dataclass(frozen=True)
class ContractResult:
    """The comparison with the committed API; ``problem``: why there is none."""

    check: ContractCheck | None
    problem: str = ""


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
        contract: None if the declarations are refused.
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
    contract: ContractResult | None = None
    notices: Sequence[str] = ()

    def add_check(self, check: TemplateCheck) -> DeploymentPlan:
        """The plan with what the template does to resources with data."""
        return replace(self, refusals=[*self.refusals, *check.refusals], notices=check.notices)

    @property
    def is_breaking(self) -> bool:
        """Whether clients of the committed API may fail."""
        check = self.contract.check if self.contract else None
        return check is not None and check.is_breaking

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        if self.refusals:
            return REFUSED
        return CHANGES if self.entities or self.is_breaking or self.notices else NOTHING
