"""What tenants consumed in a period, as operators see it."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from typer.testing import CliRunner

from daicho.operations.routes import build_operations
from daicho.runtime.tenant_limits import Limits, TenantLimits
from daicho.tenants.quota import MIN_DEBT, Usage
from daicho.tenants.quotas import Quotas, run_inline
from daicho.tenants.usage import UsagePrices, list_days, list_usage
from daicho.web.http.operation import Call
from daicho_cli.aws import Connection
from daicho_cli.cost.prices import load_prices
from daicho_cli.main import app
from tests.support.memory_stores import MemoryTable

START = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)


@pytest.fixture
def table() -> MemoryTable:
    """Twelve tenants on two days; a higher number has consumed more."""
    table, now = MemoryTable(), START.timestamp()
    quotas = Quotas(table, TenantLimits(Limits(100)), lambda: now, run_inline)
    for day in range(2):
        now = START.timestamp() + 86_400 * day
        for number in range(12):
            for _ in range(MIN_DEBT):
                assert quotas.check(f"t{number}") is None
                quotas.charge(f"t{number}", 1, 0.5 * number, float(number), 100)
            quotas.check(f"t{number}")
    return table


def test_a_period_is_a_day_or_a_month() -> None:
    assert list_days("2026-11-30") == ["2026-11-30"]
    february = list_days("2028-02")
    assert (february[0], february[-1], len(february)) == ("2028-02-01", "2028-02-29", 29)
    for wrong in ("", "2026", "2026-13", "2026-11-31", "20261130", "2026-W48-1", "yesterday"):
        with pytest.raises(ValueError, match="neither a day"):
            list_days(wrong)


def test_the_highest_consumption_comes_first(table: MemoryTable) -> None:
    day = list_usage(table, ["2026-11-30"])
    assert [name for name, _ in day] == [f"t{number}" for number in reversed(range(12))]
    assert day[0][1] == Usage(MIN_DEBT, 110.0, 220, 100 * MIN_DEBT)
    assert list_usage(table, list_days("2026-11"))[0][1] == Usage(
        2 * MIN_DEBT, 220, 440, 200 * MIN_DEBT
    )
    assert list_usage(table, ["2026-12-01"]) == []


def test_the_command_prints_ten_tenants_with_dollars(
    table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Connection("daicho")
    monkeypatch.setattr(Connection, "find", lambda *_, **__: connection)
    monkeypatch.setattr(Connection, "open", lambda *_, **__: table)

    def run(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, ["cost", "--by-tenant", *arguments])
        assert result.exit_code == code, result.output
        return result

    document = json.loads(run("2026-11-30", "--json").stdout)
    assert len(document["tenants"]) == 12
    first = document["tenants"][0]
    # Units by the prices of us-east-1, and a million requests and invocations for 1.20 dollars.
    assert first["dollars"] == pytest.approx((110 * 0.125 + 220 * 0.625 + MIN_DEBT * 1.2) / 1e6)
    shown = run("2026-11").stdout
    assert all(f" t{number} " in shown for number in range(2, 12))
    assert " t1 " not in shown
    assert "all others" in shown
    assert "neither a day" in run("2026", code=2).stderr


def test_operators_see_ten_tenants(table: MemoryTable) -> None:
    (route,) = (each for each in build_operations() if each.path == "/ops/usage")

    class Tools:
        store = table

        @staticmethod
        def now() -> dt.datetime:
            return START

    class Session:
        tools = Tools

    session: Any = Session()
    answer = route.variants[0].answer
    page = json.loads(answer(Call(session, {"period": None})).body or "")
    assert page["period"] == "2026-11-29"
    assert [item["tenant"] for item in page["items"]] == [f"t{n}" for n in range(11, 1, -1)]
    prices = load_prices("us-east-1")
    assert UsagePrices() == tuple(getattr(prices, name) for name in UsagePrices._fields)
    dollars = page["items"][0].pop("dollars")
    assert dollars == pytest.approx((110 * 0.125 + 220 * 0.625 + MIN_DEBT * 1.2) / 1e6, abs=1e-6)
    assert page["items"][0] == {
        **{"tenant": "t11", "requests": MIN_DEBT, "read_units": 110, "write_units": 220},
        **{"bytes": 100 * MIN_DEBT, "refused": 0},
    }
