"""What is asked of polls and votes in the recorded files."""

from __future__ import annotations

from collections.abc import Sequence

from tests.demonstration.golden.steps import Step, delete, get, patch, post, put

POLLS: Sequence[Step] = (
    post("/polls", {"candidates": ["Aja", "Heroes"]}, save={"poll": "id"}),
    post("/polls", {"candidates": ["Aja", "Aja"]}),
    get("/polls/{poll}"),
    get("/polls"),
    patch("/polls/{poll}", {"state": "closed"}, if_match='"2"'),
    patch("/polls/{poll}", {"state": "closed"}),
    delete("/polls/{poll}"),
    get("/polls/{poll}"),
)

VOTES: Sequence[Step] = (
    post("/polls", {"candidates": ["Aja", "Heroes"]}, save={"poll": "id"}),
    put("/polls/{poll}/votes/mika", {"candidate": "Aja"}),
    put("/polls/{poll}/votes/sato", {"candidate": "Aja"}),
    put("/polls/{poll}/votes/mika", {"candidate": "Heroes"}),
    put("/polls/{poll}/votes/mika", {"candidate": "Nobody"}),
    post(
        "/polls/{poll}/votes", {"candidate": "Heroes"}, idempotency_key="k1", save={"k1": "voter"}
    ),
    post("/polls/{poll}/votes", {"candidate": "Heroes"}, idempotency_key="k1"),
    post("/polls/{poll}/votes", {"candidate": "Aja"}, idempotency_key="k1"),
    post("/polls/{poll}/votes", {"candidate": "Heroes"}),
    get("/polls/{poll}"),
    get("/polls/{poll}?live=true"),
    get("/polls/{poll}/votes"),
    get("/polls/{poll}/votes/mika"),
    get("/polls/{poll}/votes/{k1}?anonymous=true"),
    delete("/polls/{poll}/votes/sato"),
    get("/polls/{poll}"),
    patch("/polls/{poll}", {"state": "closed"}),
    put("/polls/{poll}/votes/late", {"candidate": "Aja"}, wait=5),
    post(
        "/polls",
        {"candidates": ["Aja", "Heroes"], "counting": "fast", "expected_votes_per_second": 3000},
        save={"fast": "id"},
    ),
    post("/polls/{fast}/votes", {"candidate": "Aja"}),
    post("/polls/{fast}/votes", {"candidate": "Heroes"}),
    post("/polls/{fast}/votes", {"candidate": "Heroes"}, idempotency_key="k"),
    put("/polls/{fast}/votes/mika", {"candidate": "Heroes"}),
    get("/polls/{fast}?live=true"),
    get("/polls/{fast}"),
)
