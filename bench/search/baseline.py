"""The peer: the storage and the search of contacts by seed 001, written from its description.

One table, ``ID`` and ``DataType``; beside each contact one search item a field, whose index key is
``FreeWord#`` with the tenant and whose sort key is the value. A search reads every item whose value
begins with the keyword, removes duplicates, sorts by creation in memory, and fetches the requested
page. If the description does not define a detail, the cheaper choice is used: a contact's search
items are its name, company, phone and category names, unchanged.
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
    """The parameters that create the table.

    For a search by ``contains`` the value must be an attribute too.
    """
    attribute_names = ["CreatedAt", "Value"] if contains else ["CreatedAt"]
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
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": attribute_names},
            }
        ],
    }


def category_items(tenant: str, category: Category) -> Iterator[Image]:
    """The stored items of a category."""
    id = f"Category_{category.id}"
    yield _strings(ID=id, DataType=f"Categories#Tenant_{tenant}#{id}", Name=category.name)


def contact_items(tenant: str, contact: Contact, *, contains: bool) -> Iterator[Image]:
    """The stored items of a contact: itself, its search items, its links to categories."""
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

        The description defines the search for one keyword. Several keywords are searched one by
        one, and a contact must match all of them.
        """
        created_by_id: dict[str, str] | None = None
        for word in words or [""]:
            matches = self._matches(word, contains=contains)
            if created_by_id is None:
                created_by_id = matches
            else:
                created_by_id = {
                    id: created for id, created in created_by_id.items() if id in matches
                }
        newest = sorted((created_by_id or {}).items(), key=lambda match: match[1], reverse=True)
        ids = [id for id, _ in newest[(number - 1) * PAGE : number * PAGE]]
        contacts = self._contacts(ids) if ids else []
        return sorted(contacts, key=lambda item: str(item["CreatedAt"]["S"]), reverse=True)

    def _matches(self, word: str, *, contains: bool) -> dict[str, str]:
        """The id and the creation time of every contact that matches."""
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
        created_by_id: dict[str, str] = {}
        while True:
            answer = self.client.query(**request)
            for item in answer["Items"]:
                created_by_id[item["ID"]["S"]] = item["CreatedAt"]["S"]
            if "LastEvaluatedKey" not in answer:
                return created_by_id
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _contacts(self, ids: Sequence[str]) -> list[Image]:
        request: Any = {
            self.table: {
                "Keys": [
                    _strings(ID=id, DataType=f"Contacts#Tenant_{self.tenant}#{id}") for id in ids
                ]
            }
        }
        items: list[Image] = []
        while request:
            answer = self.client.batch_get_item(RequestItems=request)
            items += answer["Responses"].get(self.table, [])
            request = answer["UnprocessedKeys"]
        return items


def _key(partition: str, sort: str) -> list[dict[str, str]]:
    return [
        {"AttributeName": partition, "KeyType": "HASH"},
        {"AttributeName": sort, "KeyType": "RANGE"},
    ]


def _strings(**values: str) -> dict[str, dict[str, str]]:
    return {name: {"S": value} for name, value in values.items() if value}
