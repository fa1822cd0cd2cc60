"""Prices of a Region, from a dated file. `prices.toml` comes with the package."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from daicho.errors import DaichoError
from daicho_cli.cost.traffic import TABLE, Number, describe_problem

PRICE_FILE = Path(__file__).with_name("prices.toml")
DEFAULT_REGION = "us-east-1"


class PriceError(DaichoError):
    """A price file that cannot be read, or that lacks a Region."""


@dataclass(frozen=True, config=ConfigDict(**TABLE, strict=True))
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
        s3_gb: a GB for a month in the class Standard. ``s3_put_thousand``: a thousand requests that
            put or list.
        logs_gb: a GB of logs that is taken in. ``logs_kept_gb``: kept for a month.
        alarm, metric: one for a month.
        fifo_million, event_million: a million requests to a FIFO queue, and a million events that a
            bus takes; of 64 KB each. By default the prices of us-east-1.
    """

    region: str
    published: dt.date
    source: str
    write_million: Number
    read_million: Number
    table_gb: Number
    recovery_gb: Number
    lambda_million: Number
    lambda_gb_second: Number
    http_million: Number
    s3_gb: Number
    s3_put_thousand: Number
    logs_gb: Number
    logs_kept_gb: Number
    alarm: Number
    metric: Number
    fifo_million: Number = 0.50
    event_million: Number = 1.00

    def price_units(self, read: float, write: float) -> float:
        """The dollars of DynamoDB request units."""
        return (read * self.read_million + write * self.write_million) / 1e6


def load_prices(region: str = DEFAULT_REGION, file: Path = PRICE_FILE) -> Prices:
    """Read the prices of a Region.

    Raises:
        PriceError: the file cannot be read, has no such Region, or a price is missing or wrong.
    """
    try:
        regions = tomllib.loads(file.read_text("utf-8")).get("regions", {})
    except (OSError, ValueError) as error:
        raise PriceError(f"{file.name}: {error}") from error
    if region not in regions:
        raise PriceError(f"no prices of {region}; there are those of {', '.join(regions)}")
    try:
        return Prices(region=region, **regions[region])
    except ValidationError as error:
        raise PriceError(f"{region}: {describe_problem(error)}") from error
