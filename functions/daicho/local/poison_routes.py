"""The routes of the switch: operators let the projector refuse records."""

from __future__ import annotations

from daicho.errors import Invalid
from daicho.local import poison
from daicho.operations.routes import build_route, get_session, reply_json
from daicho.web.http.operation import Call, Operation, Parameter, Reply

PATH = "/ops/demo/poison"
ENTITY = Parameter(
    "entity", str, "The entity whose records are refused; by default a vote.", default="Ballot"
)


def build_poison_routes() -> list[Operation]:
    """The routes."""
    return [
        build_route("POST", PATH, _turn_on, optional=(ENTITY,)),
        build_route("DELETE", PATH, _turn_off),
    ]


def _turn_on(call: Call) -> Reply:
    """Let the projector refuse the records of an entity."""
    session, entity = get_session(call), str(call.values["entity"])
    tools = session.tools
    if entity not in tools.ledger.entities:
        raise Invalid(f"no entity is called {entity[:100]!r}", field="entity")
    session.act("poison on", entity, lambda: poison.turn_on(tools.store, entity, tools.now()))
    return reply_json({"entity": entity})


def _turn_off(call: Call) -> Reply:
    """Let the projector refuse none."""
    tools = (session := get_session(call)).tools
    session.act("poison off", "all entities", lambda: poison.turn_off(tools.store, tools.now()))
    return reply_json({"entity": None})
