"""The text and the JSON of a plan."""

from __future__ import annotations

from dataclasses import replace

from daicho.storage.attributes import ItemKey
from daicho_cli.contract.changes import ContractChange, Severity
from daicho_cli.contract.command import ContractCheck, ContractError
from daicho_cli.cost.prices import load_prices
from daicho_cli.plan.changes import EMPTY_STAGE, list_entity_changes
from daicho_cli.plan.items import EntityItems, FoundItems, ItemCount, ItemsRead, LimitCheck
from daicho_cli.plan.rebuild import EntityRebuild, RebuildEstimate
from daicho_cli.plan.report import CHANGES, NOTHING, DeploymentPlan, build_document, format_plan
from tests.support.sample_members import number
from tests.unit.daicho_cli.plan.plans import COUNT, LISTED, PLAIN, RESHAPED, VOTES, make_stage

ROUTES = {
    "User.by_country": ("GET /countries/{country}",),
    "User.listed": ("GET /users?country=", "GET /home"),
    "User.votes": ("GET /votes",),
}
BEFORE = replace(PLAIN, listings=(LISTED,), counters=(VOTES,))
AFTER = replace(PLAIN, listings=(RESHAPED,), aggregates=(COUNT,), counters=(replace(VOTES, by=()),))
CHANGED = tuple(list_entity_changes(number(BEFORE, AFTER), make_stage({"User": 1}), ROUTES))
ESTIMATE = RebuildEstimate(302, 11_500.4, 0.2, 151, 1.234, 7_300)
REBUILD = EntityRebuild(
    "User", ("by_country", "listed"), ItemCount(302, "estimated"), ESTIMATE, LimitCheck(300), 300
)
READ = ItemsRead({"User": EntityItems()}, pages=20, scanned=12_345, units=2_480.5)
PRICES = load_prices("eu-west-1")
PLAN = DeploymentPlan("the-table", entities=CHANGED, rebuilds=(REBUILD,), read=READ, prices=PRICES)
BREAKING = ContractChange(
    Severity.BREAKING,
    "removed-operation",
    "GET /x",
    "GET /x is removed",
    "mount it",
    operations=("GET /x",),
)


def test_a_plan_as_text() -> None:
    lines = format_plan(PLAN).splitlines()
    added, reshaped, restarted = (each.change.description for each in CHANGED[0].changes)
    assert lines == [
        "User  generation 1 -> 2",
        f"  + by_country  {added}",
        "                ! until it is complete, GET /countries/{country} answers 503 being-built",
        f"  ~ listed      {reshaped}",
        "                ! until it is complete, GET /users?country=, GET /home answer 503 "
        "being-built",
        f"  ~ votes       {restarted}",
        "                ! GET /votes answers without what was stored before",
        "  rebuild of by_country, listed: ~302 items: ~302 write units of touches, ~11,500 of "
        "index rows, ~151 read units; ~$1.23, 2.0 h",
        "Rebuild: ~302 items, ~$1.23, 2.0 h at 500 units/s.",
        "Estimated from a sample: 12,345 items in 20 pages (at most 20; --scan reads all), 2,480.5 "
        f"read units. Prices of eu-west-1 of {PRICES.published}.",
        "1 entity changes. Nothing is refused.",
    ]


def test_items_over_the_limits_are_counted_and_named() -> None:
    keys = [ItemKey(f"acme#User#{n}", "-") for n in range(2)]
    check = LimitCheck(300, FoundItems(2, keys), FoundItems(7, keys))
    text = format_plan(replace(PLAN, rebuilds=(replace(REBUILD, check=check),)))
    assert (
        "! 2 of 300 items that were checked pass the limits (400 rows, 99 groups) only because "
        "what is declared and what retires count separately: acme#User#0 -, acme#User#1 -\n"
    ) in text
    assert "! 7 of 300 items that were checked cannot be derived by generation 2." in text
    assert "acme#User#0 -, acme#User#1 - and 5 more\n" in text


def test_the_archive_is_named_with_what_it_completes_or_cannot() -> None:
    change = replace(CHANGED[0], archived=("ever", "paid"), unarchived=("seen",))
    text = format_plan(replace(PLAN, entities=(change,)))
    assert (
        "  then ever, paid from the archive: reads all objects of User, and 1 read unit for each "
        "row of an older generation\n"
        "  ! seen cannot become complete, because items of an earlier generation expired without "
        'the archive: declare on_expiry="subtract"\n'
    ) in text


def test_the_first_deployment_and_an_unrecorded_table_are_announced() -> None:
    new = tuple(list_entity_changes(number(BEFORE), EMPTY_STAGE, ROUTES))
    plan = DeploymentPlan("", entities=new, waiting=("User",))
    assert format_plan(plan).splitlines() == [
        "There is no table yet: this is the first deployment.",
        "User  new, generation 1",
        "The deployment waits until the event filter of every shard knows: User.",
        "1 entity changes. Nothing is refused.",
    ]
    assert plan.exit_code == CHANGES
    unrecorded = format_plan(DeploymentPlan("the-table", is_recorded=False))
    assert unrecorded.startswith("the-table has items and no backfill items")


def test_a_breaking_change_of_the_api_is_a_change() -> None:
    check = ContractCheck("HEAD", (BREAKING,))
    plan = DeploymentPlan("the-table", contract=check)
    assert format_plan(plan).splitlines() == [
        "The API, compared with HEAD:",
        "  breaking    GET /x is removed",
        "              to keep it: mount it",
        "No entities change. Nothing is refused.",
    ]
    assert plan.exit_code == CHANGES
    equal = replace(plan, contract=ContractCheck("HEAD", ()))
    assert (equal.exit_code, len(format_plan(equal).splitlines())) == (NOTHING, 1)
    missing = replace(plan, contract=ContractError("no document"))
    assert format_plan(missing).startswith("The API was not compared: no document")
    assert missing.exit_code == NOTHING


def test_prices_of_another_region_are_announced() -> None:
    missing = "There are no prices of eu-north-1."
    assert missing in format_plan(replace(PLAN, region="eu-north-1")).splitlines()
    assert "There are no prices" not in format_plan(replace(PLAN, region="eu-west-1"))


def test_the_document_has_the_same() -> None:
    check = LimitCheck(300, FoundItems(1, [ItemKey("acme#User#0", "-")]))
    contract = ContractCheck("HEAD", (BREAKING,))
    plan = replace(
        PLAN, rebuilds=(replace(REBUILD, check=check),), contract=contract, waiting=("User",)
    )
    document = build_document(plan)
    (user,) = document["entities"]
    assert [
        (each["declaration"], each["effect"], each["hides_data"], each["being_built"])
        for each in user["changes"]
    ] == [
        ("by_country", "added", False, True),
        ("listed", "reshaped", True, True),
        ("votes", "restarted", True, False),
    ]
    assert user["rebuild"]["over_limits_together"] == {
        "items": 1,
        "keys": [{"PK": "acme#User#0", "SK": "-"}],
    }
    assert (user["rebuild"]["items"], user["rebuild"]["basis"]) == (302, "estimated")
    assert document["waiting_for_filter"] == ["User"]
    assert document["sample"]["region"] == "eu-west-1"
    assert (document["exit_code"], document["contract"]["breaking"]) == (CHANGES, True)
    empty = build_document(DeploymentPlan("", contract=ContractError("none")))
    assert (empty["table"], empty["sample"]) == (None, None)
    assert empty["contract"] == {"problem": "none"}
    assert build_document(DeploymentPlan(""))["contract"] is None
