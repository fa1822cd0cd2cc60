"""The limits of tenants: what one may consume a second, and how much of it at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, field

from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.token_claims import TENANT

RATES = ("requests", "read_units", "write_units")
"""The names of the limits, which are those of `Limits` and of what is consumed."""
MAX_TEXT = 2_000
"""The characters of all limits as text: the environment of a function has 4 KB."""
EVERYBODY = "*"
"""In place of a tenant's name: all tenants without limits of their own."""


@dataclass(frozen=True)
class Limits:
    """What one tenant may consume a second: requests, read units, write units.

    ``burst_seconds``: the tenant may consume at once what it may consume in so many seconds.
    ``items``: the most items that it may have, of the entities that count all of theirs.
    """

    requests: int = 1_000
    read_units: int = 10_000
    write_units: int = 10_000
    burst_seconds: int = 1
    items: int = 100_000_000

    def list_problems(self) -> Iterator[str]:
        """What is wrong with these limits, in words."""
        for name, value in asdict(self).items():
            if not isinstance(value, int) or value < 1:
                yield f"{name} is {value!r}, not a number from 1"


@dataclass(frozen=True)
class TenantLimits:
    """The limits of all tenants of a stage: a default, and others of some tenants."""

    default: Limits = Limits()
    overrides: Mapping[str, Limits] = field(default_factory=dict)

    def find(self, tenant: str) -> Limits:
        """The limits of a tenant."""
        return self.overrides.get(tenant, self.default)

    @classmethod
    def collect(cls, named: Mapping[str, Limits]) -> TenantLimits:
        """The limits of tenants by name, with `EVERYBODY`.

        Raises:
            KeyError: without `EVERYBODY`.
        """
        others = {name: limits for name, limits in named.items() if name != EVERYBODY}
        return cls(named[EVERYBODY], others)

    def render(self) -> str:
        """The limits as text, for the environment of a function."""
        return json.dumps(
            {name: astuple(limits) for name, limits in self._list_named()}, separators=(",", ":")
        )

    @classmethod
    def parse(cls, text: str) -> TenantLimits:
        """The limits that `render` has written.

        Raises:
            ValueError: it has not.
        """
        try:
            named = {name: Limits(*values) for name, values in json.loads(text).items()}
            limits = cls.collect(named)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no limits of tenants: {text[:100]!r}") from error
        if problems := [*limits.list_problems()]:
            raise ValueError("; ".join(problems))
        return limits

    def list_problems(self) -> Iterator[str]:
        """What is wrong with these limits, in words."""
        for name, limits in self._list_named():
            if name != EVERYBODY and not TENANT.fullmatch(name):
                yield f"{name!r} is no name of a tenant"
            place = "" if name == EVERYBODY else f" of the tenant {name}"
            yield from (f"{problem}{place}" for problem in limits.list_problems())
        if len(self.render()) > MAX_TEXT:
            yield f"the limits of {len(self.overrides)} tenants are too many: {MAX_TEXT} characters"

    def _list_named(self) -> Iterator[tuple[str, Limits]]:
        yield EVERYBODY, self.default
        yield from self.overrides.items()
