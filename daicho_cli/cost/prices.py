"""Prices of a Region, from a dated file. `prices.toml` comes with the package."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from daicho.errors import DaichoError
from daicho.runtime.frozen_dataclasses import dataclass

PRICE_FILE = Path(__file__).with_name("prices.toml")
DEFAULT_REGION = "us-east-1"


class PriceError(DaichoError):
    """A price file that cannot be read, or that lacks a Region."""


@dataclass(frozen=True)
class Prices:
    """On-demand prices of one Region in US dollars, before any free tier and without tax.

    Args:
        region: the Region.
        published: the date of the price list that the figures are from.
        source: the address of the price list.
        write_million, read_million: a million DynamoDB request units.
        table_gb: a GB of a table or an index for a month. ``recovery_gb``: its point-in-time
            recovery.
        lambda_million: a million invocations. ``lambda_gb_second``: on Arm.
        http_million: a million requests of an HTTP API.
        s3_gb: a GB for a month in the class Standard. ``s3_put_thousand``, ``s3_get_thousand``: a
            thousand requests.
        logs_gb: a GB of logs that is taken in. ``logs_kept_gb``: kept for a month.
        alarm, metric, dashboard: one for a month. ``key``: a KMS key for a month.
    """

    region: str
    published: dt.date
    source: str
    write_million: float
    read_million: float
    table_gb: float
    recovery_gb: float
    lambda_million: float
    lambda_gb_second: float
    http_million: float
    s3_gb: float
    s3_put_thousand: float
    s3_get_thousand: float
    logs_gb: float
    logs_kept_gb: float
    alarm: float
    metric: float
    dashboard: float
    key: float

    def price_units(self, read: float, write: float) -> float:
        """The dollars of DynamoDB request units."""
        return (read * self.read_million + write * self.write_million) / 1e6


def load_prices(region: str = DEFAULT_REGION, file: Path = PRICE_FILE) -> Prices:
    """Read the prices of a Region.

    Raises:
        PriceError: the file cannot be read, or has no such Region.
    """
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise PriceError(f"{file.name}: {error}") from error
    return parse_prices(data, region)


def list_regions(file: Path = PRICE_FILE) -> list[str]:
    """The Regions of a price file."""
    return list(tomllib.loads(file.read_text("utf-8"))["regions"])


def parse_prices(data: Mapping[str, Any], region: str) -> Prices:
    """The prices of a Region in the content of a price file.

    Raises:
        PriceError: the Region is missing, or one of its prices is missing, unknown or wrong.
    """
    regions = data.get("regions", {})
    if region not in regions:
        raise PriceError(f"no prices of {region}; there are those of {', '.join(regions)}")
    values: dict[str, Any] = {"region": region, **regions[region]}
    names = {spec.name for spec in fields(Prices) if spec.default is MISSING}
    if missing := sorted(names - values.keys()):
        raise PriceError(f"{region} has no {', '.join(missing)}")
    if unknown := sorted(values.keys() - names):
        raise PriceError(f"{region} has an unknown {', '.join(unknown)}")
    for spec in fields(Prices):
        value = values[spec.name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        valid = {"float": is_number, "str": isinstance(value, str), "dt.date": _is_date(value)}
        if not valid[str(spec.type)]:
            raise PriceError(f"{region}: {spec.name} cannot be {value!r}")
    return Prices(**values)


def _is_date(value: object) -> bool:
    return isinstance(value, dt.date) and not isinstance(value, dt.datetime)
