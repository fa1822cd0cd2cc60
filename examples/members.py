"""Members of a club: found by name, and listed by team."""

from __future__ import annotations

from daicho import Domain, Entity, Key, Listing, Search, field, uid


class Member(Entity):
    """Somebody who belongs to the club."""

    id: str = uid()
    email: str = field(min_length=3)
    name: str = field(min_length=1)
    team: str = field(min_length=1)

    key = Key(id)
    search = Search(name)
    of_team = Listing(team)


domain = Domain("members", Member)
domain.resource("/members/{id}", Member, "POST GET PATCH DELETE")
