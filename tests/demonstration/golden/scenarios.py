"""What is asked in the recorded files: every route of every domain, with answers and refusals.

A text may name values of earlier answers in braces: ``/contacts/{contact}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.demonstration.golden.scenarios_of_votes import POLLS, VOTES
from tests.demonstration.golden.steps import Step, delete, get, patch, post, put

MUSIC: Sequence[Step] = (
    post("/artists", {"name": "David Bowie", "career_start": 1962}, save={"bowie": "id"}),
    put("/artists/aja", {"name": "Steely Dan"}),
    put("/artists/aja", {"name": "Steely Dan", "career_start": 1971}),
    put("/artists/aja", {"name": "Nobody"}, if_none_match="*"),
    patch("/artists/{bowie}", {"career_start": 1963}, if_match='"1"'),
    patch("/artists/{bowie}", {"career_start": 1964}, if_match='"1"'),
    patch("/artists/{bowie}", {"born": 1947}),
    get("/artists/{bowie}"),
    get("/artists/{bowie}", if_none_match='"2"'),
    get("/artists?name=dav"),
    get("/artists?name="),
    post("/albums", {"title": "Heroes", "artist": "{bowie}", "genre": "Rock"}, save={"lp": "id"}),
    put("/albums/lodger", {"title": "Lodger", "artist": "{bowie}", "genre": "Rock"}),
    patch("/albums/lodger", {"studio": "Mountain", "genre": "Art Rock"}),
    get("/albums/{lp}"),
    get("/albums?genre=Rock"),
    get("/artists/{bowie}/albums"),
    delete("/albums/lodger"),
    get("/albums/lodger"),
    post(
        "/songs",
        {"title": "Heroes", "artist": "{bowie}", "released": 1977, "album": "{lp}"},
        save={"heroes": "id"},
        idempotency_key="first-song",
    ),
    post(
        "/songs",
        {"title": "Heroes", "artist": "{bowie}", "released": 1977, "album": "{lp}"},
        idempotency_key="first-song",
    ),
    post("/songs", {"title": "Other"}, idempotency_key="first-song"),
    put("/songs/fame", {"title": "Fame", "artist": "{bowie}", "released": 1975}),
    put("/songs/peg", {"title": "Peg", "artist": "aja", "released": 1977}),
    patch("/songs/peg", {"note": "Remastered"}),
    get("/songs/{heroes}"),
    get("/songs?artist=David%20Bowie"),
    get("/songs?artist=david%20bowie&released=1977"),
    get("/songs?title=peg"),
    get("/songs?unknown=1"),
    get("/artists/{bowie}/songs?limit=1", save={"cursor": "cursor"}),
    get("/artists/{bowie}/songs?limit=1&cursor={cursor}"),
    get("/artists/aja/songs?cursor={cursor}"),
    post("/playlists", {"name": "Road trip"}, save={"trip": "id"}),
    put("/playlists/calm", {"name": "Calm"}),
    patch("/playlists/calm", {"name": "Calmer"}),
    get("/playlists/calm"),
    put("/playlists/{trip}/songs/{heroes}", {"note": "loud"}),
    put("/playlists/{trip}/songs/peg", {}),
    get("/playlists/{trip}/songs"),
    get("/playlists/{trip}/songs/peg"),
    get("/songs/{heroes}/playlists"),
    delete("/playlists/{trip}/songs/peg"),
    delete("/playlists/calm"),
    delete("/songs/fame", if_match='"7"'),
    delete("/songs/fame"),
    delete("/artists/aja"),
)

DOWNLOADS: Sequence[Step] = (
    put("/songs/heroes", {"title": "Heroes", "artist": "bowie", "released": 1977}),
    put("/songs/peg", {"title": "Peg", "artist": "aja", "released": 1977}),
    post("/songs/heroes/downloads", {}, save={"first": "id"}),
    post("/songs/heroes/downloads", {"at": "2026-10-31T23:00:00Z"}, save={"second": "id"}),
    post("/songs/peg/downloads", {}),
    post("/songs/nothing/downloads", {}),
    get("/songs/heroes/downloads"),
    get("/songs/heroes/downloads/{first}"),
    patch("/songs/heroes/downloads/{second}", {"at": "2026-11-01T00:00:00Z"}),
    get("/charts/2026-11"),
    get("/charts/2026-11/heroes"),
    get("/charts/2026-13"),
    get("/artist-charts/2026-11"),
    get("/artist-charts/2026-11/bowie"),
    delete("/songs/heroes/downloads/{first}"),
    get("/charts/2026-11?limit=1"),
)

SALES: Sequence[Step] = (
    put("/products/heroes", {"genre": "Rock", "price": "0.99"}),
    put("/products/peg", {"genre": "Jazz", "price": "1.29"}),
    put("/products/peg", {"genre": "Jazz", "price": "-1"}),
    get("/products/heroes"),
    patch("/products/heroes", {"price": "1.09"}),
    post("/sales", {"song": "heroes"}, save={"sale": "id"}),
    post("/sales", {"song": "peg", "at": "2026-10-01T00:00:00Z"}, save={"other": "id"}),
    post("/sales", {"song": "nothing"}),
    get("/sales/{sale}"),
    patch("/sales/{sale}", {"at": "2026-10-02T00:00:00Z"}),
    get("/products/heroes/sales"),
    get("/revenue/2026-10"),
    get("/revenue/2026-10/songs"),
    get("/revenue/2026-10/songs/heroes"),
    get("/revenue/2026-10/genres"),
    get("/revenue/2026-10/genres?genre=Rock"),
    get("/genre-revenue"),
    get("/genre-revenue?genre=Jazz"),
    delete("/sales/{other}"),
    get("/genre-revenue"),
    delete("/products/peg"),
)

CONTACTS: Sequence[Step] = (
    post("/categories", {"name": "VIP"}, save={"vip": "id"}),
    post("/categories", {"name": "Trade"}, save={"trade": "id"}),
    post("/categories", {"name": ""}),
    patch("/categories/{trade}", {"name": "Trading"}),
    get("/categories"),
    get("/categories/{vip}"),
    get("/categories/count"),
    post(
        "/contacts",
        {"name": "山田 太郎", "company": "株式会社山田商店", "phone": "03-1234-5678"},
        save={"yamada": "id"},
    ),
    post("/contacts", {"name": "Ada Lovelace", "company": "Acme Co., Ltd."}, save={"ada": "id"}),
    post("/contacts", {"company": "No name"}),
    post("/contacts", {"name": "x" * 257}),
    put("/contacts/{yamada}/categories/{vip}"),
    put("/contacts/{ada}/categories/{vip}"),
    put("/contacts/{ada}/categories/{trade}"),
    get("/categories/{vip}/contacts"),
    get("/categories/nothing/contacts"),
    get("/contacts?q="),
    get("/contacts?q=ada"),
    get("/contacts?q=山田".replace("山田", "%E5%B1%B1%E7%94%B0")),
    get("/contacts?q=trad"),
    get("/contacts?q=vip&limit=1", save={"cursor": "cursor"}),
    get("/contacts?q=vip&limit=1&cursor={cursor}"),
    get("/contacts?q=ada&limit=1&cursor={cursor}"),
    get("/contacts?q={long}".replace("{long}", "x" * 65)),
    get("/contacts?limit=101"),
    get("/contacts/count"),
    get("/contacts/{ada}"),
    patch("/contacts/{ada}", {"name": "Ada King", "phone": "+81 90 1111 2222"}),
    post("/contacts/{ada}/calls", {"note": "Asked", "seconds": 60}, save={"call": "id"}),
    post("/contacts/{ada}/calls", {"seconds": -1}),
    post("/contacts/nobody/calls", {"note": "Asked"}),
    get("/contacts/{ada}/calls"),
    get("/contacts/{ada}/calls/{call}"),
    get("/contacts?q=king&include=calls"),
    delete("/contacts/{ada}/calls/{call}"),
    delete("/contacts/{ada}/categories/{trade}"),
    delete("/categories/{trade}"),
    delete("/contacts/{yamada}"),
    get("/contacts/count"),
)

USERS: Sequence[Step] = (
    post("/users", {"name": "Mika Yamada", "age": 34}, save={"mika": "id"}),
    put("/users/sato", {"name": "Sato", "email": "sato@example.com"}),
    put("/users/sato", {"name": "Sato", "age": 201}),
    patch("/users/sato", {"country": "Japan"}),
    get("/users/{mika}"),
    get("/users/{mika}?fields=name,age"),
    get("/users?name=mika"),
    get("/users?name="),
    delete("/users/sato"),
    get("/users/sato"),
)

ORDERS: Sequence[Step] = (
    post(
        "/orders",
        {
            "date": "2026-11-21",
            "customer": "mika",
            "lines": [{"sku": "lp", "quantity": 2, "price": "24.90"}],
        },
        save={"order": "id"},
    ),
    post("/orders", {"date": "2026-11-21", "customer": "mika"}, save={"other": "id"}),
    post("/orders", {"date": "21.11.2026", "customer": "mika"}),
    get("/orders?date=2026-11-21"),
    get("/orders"),
    get("/orders?status=open"),
    get("/orders?id={order}"),
    get("/orders/{order}?date=2026-11-21"),
    get("/orders/{order}"),
    get("/customers/mika/orders"),
    get("/customers/mika/orders?open=true"),
    patch("/orders/{order}?date=2026-11-21", {"status": "shipped"}),
    patch("/orders/{order}?date=2026-11-21", {"lines": []}),
    get("/customers/mika/orders?open=true"),
    get("/users/mika/orders"),
    get("/users/mika/orders?open=true"),
)

CARTS: Sequence[Step] = (
    put("/carts/mika/items/lp", {"quantity": 2, "price": "24.90"}),
    put("/carts/mika/items/cd?state=saved", {"quantity": 1, "price": "9.90"}),
    put("/carts/mika/items/cd", {"state": "saved"}),
    put("/carts/mika/items/book", {"quantity": 1000}),
    get("/carts/mika"),
    get("/carts/mika?state=saved"),
    get("/carts/mika?state=lost"),
    get("/carts/mika/items/lp"),
    get("/carts/mika/items/cd?state=saved"),
    patch("/carts/mika/items/cd?state=saved", {"state": "active"}),
    patch("/carts/mika/items/lp", {"quantity": 3}, if_match='"1"'),
    patch("/carts/mika/items/lp", {"quantity": 4}, if_match='"1"'),
    put("/carts/mika/items/pen?state=wish", {}),
    delete("/carts/mika/items/pen?state=wish"),
    post("/carts/mika/checkout", None),
    post("/carts/mika/checkout", None),
    get("/carts/mika"),
)

PLACES: Sequence[Step] = (
    put("/places/japan/kanto/kanagawa/yokohama", {"population": 3770000}),
    put("/places/japan/kanto/tokyo/shibuya", {}),
    put("/places/japan/kansai/osaka/osaka", {"note": "A port"}),
    put("/places?country=japan&region=kanto&state=a%2Fb&city=c", {"note": "a slash"}),
    put("/places?country=japan", {}),
    get("/places"),
    get("/places?under=japan/kanto"),
    get("/places?under=japan/kan"),
    get("/places?country=japan&region=kanto&state=a%2Fb&city=c"),
    patch("/places?country=japan&region=kanto&state=a%2Fb&city=c", {"population": 1}),
    delete("/places?country=japan&region=kanto&state=a%2Fb&city=c"),
    get("/places/japan/kanto/kanagawa/yokohama"),
    patch("/places/japan/kanto/kanagawa/yokohama", {"population": 3780000}),
    delete("/places/japan/kanto/tokyo/shibuya"),
)

DEVICES: Sequence[Step] = (
    post("/devices/pump-7/reports", {"status": "ok"}, save={"fine": "id", "fine_at": "at"}),
    post(
        "/devices/pump-7/reports",
        {"status": "failure", "message": "Pressure", "escalated_to": "sato"},
        save={"failure": "id", "failure_at": "at"},
    ),
    get("/devices"),
    get("/devices/pump-7/reports?minutes=60"),
    get("/devices/pump-7/reports"),
    get("/devices/pump-7/reports/{failure}?at={failure_at}"),
    get("/escalations/sato?minutes=60"),
    patch("/devices/pump-7/reports/{failure}?at={failure_at}", {"resolved": True}),
    get("/escalations/sato?minutes=60"),
    delete("/devices/pump-7/reports/{fine}?at={fine_at}"),
)

MESSAGES: Sequence[Step] = (
    post(
        "/messages", {"subject": "Rehearsal", "text": "Seven", "sender": "mika"}, save={"m": "id"}
    ),
    post("/messages", {"text": "No subject"}, save={"n": "id"}),
    get("/messages"),
    get("/messages/{m}"),
    get("/messages/count"),
    delete("/messages/{n}"),
    get("/messages/count"),
    get("/messages/{m}", wait=8 * 86_400),
    get("/messages"),
)

ARTICLES: Sequence[Step] = tuple(
    step
    for path in ("/articles", "/manuals")
    for step in (
        post(path, {"title": "Hours", "text": "From nine"}, save={"id": "id"}),
        put(f"{path}/tour", {"title": "Tour", "text": "At noon"}),
        put(f"{path}/tour", {"title": "Tour", "text": "At one"}, if_match='"1"'),
        put(f"{path}/tour", {"title": "Tour", "text": "At two"}, if_match='"1"'),
        patch(f"{path}/tour", {"text": "At three"}),
        get(f"{path}/tour"),
        get(path),
        get(f"{path}?title=tour"),
        get(f"{path}?author=mika"),
        get(f"{path}/count"),
        get(f"{path}/tour/versions"),
        get(f"{path}/tour/versions/2"),
        get(f"{path}/tour/versions/9"),
        post(f"{path}/tour/versions/1/restore", None),
        delete(f"{path}/tour"),
        get(f"{path}/tour/versions"),
        delete(f"{path}/tour/versions"),
        get(f"{path}/{{id}}"),
    )
)

PHOTOS: Sequence[Step] = (
    post(
        "/photos", {"title": "Kanda", "image": {"type": "image/png", "bytes": 99}}, save={"p": "id"}
    ),
    post("/photos", {"title": "Kanda", "image": {"type": "text/html", "bytes": 99}}),
    get("/photos"),
    get("/photos/{p}"),
    get("/photos/{p}?upload=true"),
    patch("/photos/{p}", {"title": "Kanda at dawn"}),
    delete("/photos/{p}"),
    get("/photos/{p}"),
)

DOCUMENTS: Sequence[Step] = (
    post(
        "/documents",
        {"title": "Report", "sections": {"a": {"text": "A"}, "b": ["x"]}},
        save={"d": "id"},
    ),
    put("/documents/plan", {"title": "Plan", "sections": {"one": 1, "two": 2}}),
    put("/documents/plan", {"title": "Plan", "sections": {"one": 1, "three": 3}}),
    patch("/documents/plan", {"title": "The plan"}),
    patch("/documents/plan", {"sections": {"one": "x" * 200}}),
    get("/documents/plan"),
    get("/documents?title=plan"),
    get("/documents/plan/three"),
    put("/documents/plan/two", {"text": "new"}),
    put("/documents/plan/two", {"text": "newer"}, if_match='"9"'),
    delete("/documents/plan/three"),
    get("/documents/plan/three"),
    get("/documents/{d}"),
    delete("/documents/{d}"),
)

ARCHIVED_DAYS = "since=2026-11-01T00:00:00Z&until=2026-11-08T00:00:00Z"
ARCHIVED_MESSAGES = {
    "entity": "Message",
    "since": "2026-11-01T00:00:00Z",
    "until": "2026-11-08T00:00:00Z",
}

TENANT: Sequence[Step] = (
    put("/users/sato", {"name": "Sato"}),
    get("/nowhere"),
    put("/contacts", {}),
    get("/problems"),
    get("/problems/not-found"),
    get("/openapi.json"),
    get("/docs"),
    get("/jobs"),
    get(f"/archive?entity=Message&{ARCHIVED_DAYS}", role="admin"),
    get(f"/archive?entity=User&{ARCHIVED_DAYS}", role="admin"),
    get("/archive?entity=Message", role="admin"),
    post("/archive/restorations", ARCHIVED_MESSAGES),
    post("/archive/restorations", ARCHIVED_MESSAGES, role="admin"),
    post("/archive/restorations", ARCHIVED_MESSAGES, role="admin"),
    get("/jobs", role="admin"),
    delete("/tenant"),
    delete("/tenant", role="admin", save={"job": "id"}),
    delete("/tenant?archive=forget", role="admin"),
    get("/jobs/{job}", role="admin"),
    get("/jobs/nothing", role="admin"),
    get("/users/sato", wait=10),
)

SCENARIOS: Mapping[str, Sequence[Step]] = {
    "articles": ARTICLES,
    "carts": CARTS,
    "contacts": CONTACTS,
    "devices": DEVICES,
    "documents": DOCUMENTS,
    "downloads": DOWNLOADS,
    "messages": MESSAGES,
    "music": MUSIC,
    "orders": ORDERS,
    "photos": PHOTOS,
    "places": PLACES,
    "polls": POLLS,
    "sales": SALES,
    "tenant": TENANT,
    "users": USERS,
    "votes": VOTES,
}
