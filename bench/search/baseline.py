"""The peer: contacts as seed 001 keeps and searches them, written from its description.

One table, ``ID`` and ``DataType``; beside each contact one search item a field, whose index key is
``FreeWord#`` with the tenant and whose sort key is the value. A search reads every item whose value
begins with the keyword, removes duplicates, sorts by creation in memory, and fetches the page that
is asked for. Where the description is silent, what is cheaper was taken: a contact's search items
are its name, company, phone and category names, as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.search.contact_generator import Category, Contact
from daicho.storage.attributes import Image
from daicho.storage.keys import render_instant

INDEX = "SearchType-SearchValue-index"
PAGE = 100


def table(*, contains: bool) -> dict[str, Any]:
    """What creates the table; to search by ``contains`` the value must be an attribute too."""
    kept = ["CreatedAt", "Value"] if contains else ["CreatedAt"]
    return {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"}
            for name in ("ID", "DataType", "SearchType", "SearchValue")
        ],
        "KeySchema": _key("ID", "DataType"),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": INDEX,
                "KeySchema": _key("SearchType", "SearchValue"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": kept},
            }
        ],
    }


def category_items(tenant: str, category: Category) -> Iterator[Image]:
    """What is stored for a category."""
    id = f"Category_{category.id}"
    yield _strings(ID=id, DataType=f"Categories#Tenant_{tenant}#{id}", Name=category.name)


def contact_items(tenant: str, contact: Contact, *, contains: bool) -> Iterator[Image]:
    """What is stored for a contact: itself, its search items, its links to categories."""
    id, created = f"Contact_{contact.id}", render_instant(contact.created)
    yield _strings(
        ID=id,
        DataType=f"Contacts#Tenant_{tenant}#{id}",
        CreatedAt=created,
        Name=contact.name,
        Company=contact.company,
        Phone=contact.phone,
        Email=contact.email,
    )
    values = {"Name": contact.name, "Company": contact.company, "Phone": contact.phone}
    searched = [(f"{what}#{id}", value) for what, value in values.items()]
    searched += [
        (f"CategoryName#{id}#Category_{category.id}", category.name)
        for category in contact.categories
    ]
    for what, value in searched:
        if value:
            item = _strings(
                ID=id,
                DataType=what,
                SearchType=f"FreeWord#Tenant_{tenant}",
                SearchValue=value,
                CreatedAt=created,
            )
            yield item | _strings(Value=value) if contains else item
    for category in contact.categories:
        yield _strings(
            ID=id,
            DataType=f"ContactCategory#{id}#Category_{category.id}",
            SearchType=f"ContactCategory#Category_{category.id}",
            SearchValue=id,
        )


@dataclass(frozen=True)
class Peer:
    """Searches the contacts of one tenant."""

    client: Any
    table: str
    tenant: str

    def page(self, words: Sequence[str], number: int, *, contains: bool) -> list[Image]:
        """The page of this number, from 1 on.

        The description knows one keyword; of several, each is searched and all must have found a
        contact.
        """
        found: dict[str, str] | None = None
        for word in words or [""]:
            matches = self._matches(word, contains=contains)
            if found is None:
                found = matches
            else:
                found = {id: created for id, created in found.items() if id in matches}
        newest = sorted((found or {}).items(), key=lambda match: match[1], reverse=True)
        ids = [id for id, _ in newest[(number - 1) * PAGE : number * PAGE]]
        contacts = self._contacts(ids) if ids else []
        return sorted(contacts, key=lambda item: str(item["CreatedAt"]["S"]), reverse=True)

    def _matches(self, word: str, *, contains: bool) -> dict[str, str]:
        """Ids of every contact that matches, with when it was created."""
        condition = "SearchType = :pk"
        values = {":pk": {"S": f"FreeWord#Tenant_{self.tenant}"}}
        request: dict[str, Any] = {"TableName": self.table, "IndexName": INDEX}
        if word:
            values[":word"] = {"S": word}
            if contains:
                request["FilterExpression"] = "contains(#value, :word)"
                request["ExpressionAttributeNames"] = {"#value": "Value"}
            else:
                condition += " AND begins_with(SearchValue, :word)"
        request |= {"KeyConditionExpression": condition, "ExpressionAttributeValues": values}
        found: dict[str, str] = {}
        while True:
            answer = self.client.query(**request)
            for item in answer["Items"]:
                found[item["ID"]["S"]] = item["CreatedAt"]["S"]
            if "LastEvaluatedKey" not in answer:
                return found
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _contacts(self, ids: Sequence[str]) -> list[Image]:
        asked: Any = {
            self.table: {
                "Keys": [
                    _strings(ID=id, DataType=f"Contacts#Tenant_{self.tenant}#{id}") for id in ids
                ]
            }
        }
        found: list[Image] = []
        while asked:
            answer = self.client.batch_get_item(RequestItems=asked)
            found += answer["Responses"].get(self.table, [])
            asked = answer["UnprocessedKeys"]
        return found


def _key(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def _strings(**values: str) -> dict[str, dict[str, str]]:
    return {name: {"S": value} for name, value in values.items() if value}
