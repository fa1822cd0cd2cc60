"""Totals and series on the wire: their parameters, answers and models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from daicho.declare.aggregates import Aggregate, TallyDeclaration
from daicho.declare.queries import TotalQuery
from daicho.declare.results import Series, SeriesBucket
from daicho.plan.calendar import CalendarUnit
from daicho.plan.figures.series import DIVISIBLE_UNITS
from daicho.web.http.operation import Call, Parameter, Reply
from daicho.web.routes.scores import (
    build_as_of_fields,
    build_as_of_values,
    build_figure_fields,
    build_figure_values,
    build_score_values,
    name_model,
    refer_to_score,
)
from daicho.web.schema.model_refs import ModelRef
from daicho.web.schema.wire_types import render_instant

MAX_BOUND_CHARACTERS = 40
_BOUND = "A day (2026-11-21), a local time, or one with an offset."
_FORM: dict[str, Any] = {"pattern": "^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"}
_BEGIN: Any = Annotated[
    str,
    Field(max_length=MAX_BOUND_CHARACTERS, examples=["2026-01-01"], json_schema_extra=_FORM),
]
_END: Any = Annotated[
    str,
    Field(max_length=MAX_BOUND_CHARACTERS, examples=["2027-01-01"], json_schema_extra=_FORM),
]
RANGE = (
    Parameter("from", _BEGIN, f"The beginning of the range. {_BOUND}"),
    Parameter("to", _END, f"The end of the range, which is not in it: later than `from`. {_BOUND}"),
)
_INSTANT = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


def has_series(declared: TallyDeclaration) -> bool:
    """Whether a declaration is read from one time to another."""
    return isinstance(declared, Aggregate) and declared.series is not None


def describe_series(declared: object) -> dict[str, Any] | None:
    """What a program needs to know of a series to ask for a range of it; None without one.

    ``first_weekday``: 0 is Monday. ``steps``: the units of which a bucket of the answer may be.
    """
    part = declared.series if isinstance(declared, Aggregate) else None
    if part is None or part.bucket is None:
        return None
    return {
        "unit": part.bucket,
        "zone": part.zone,
        "first_weekday": part.first_weekday,
        "steps": list(DIVISIBLE_UNITS[part.bucket]),
    }


def build_step(series: Mapping[str, Any]) -> Parameter:
    """The parameter that chooses the unit of the buckets, of what `describe_series` returned."""
    text = "The unit of the buckets; without it, one of the range."
    return Parameter("step", Literal[*series["steps"]], text)


def answer_total(declared: TallyDeclaration, query: TotalQuery, call: Call) -> Reply:
    """Answer with the total of one group, or with its series if it has one."""
    values, live = call.values, call.values["live"]
    if has_series(declared):
        series = call.book.series(
            query, values["from"], values["to"], step=values["step"], live=live
        )
        return Reply(200, json.dumps(_build_series_values(declared, series)))
    score = call.book.read(query, live=live, ranked=declared.ranked)
    shown = build_score_values(declared, score, ranked=declared.ranked)
    shown |= build_as_of_values(score)
    return Reply(200, json.dumps(shown, ensure_ascii=False))


def refer_to_total(declared: TallyDeclaration) -> ModelRef:
    """A reference to the model of the answer of `answer_total`."""
    if has_series(declared):
        return ModelRef(_build_series_model, (declared,))
    return refer_to_score(declared)


def _build_series_values(declared: TallyDeclaration, series: Series) -> dict[str, Any]:
    return {
        "zone": series.zone,
        "step": series.step,
        "buckets": [_build_bucket_values(declared, bucket) for bucket in series.buckets],
        **build_as_of_values(series),
    }


def _build_bucket_values(declared: TallyDeclaration, bucket: SeriesBucket) -> dict[str, Any]:
    return {
        "label": bucket.label,
        "start": render_instant(bucket.start),
        "end": render_instant(bucket.end),
        **build_figure_values(declared, bucket),
    }


def _build_series_model(declared: TallyDeclaration) -> type[BaseModel]:
    name = name_model(declared)
    fields: dict[str, Any] = {
        "label": (str, Field(description="Of the bucket; empty for the whole range.")),
        "start": (_INSTANT, Field(description="The first instant of the bucket.")),
        "end": (_INSTANT, Field(description="The first instant after the bucket.")),
        **build_figure_fields(declared),
    }
    bucket: Any = create_model(f"{name}Bucket", **fields)
    series: dict[str, Any] = {
        "zone": (str, Field(description="The time zone of the buckets.")),
        "step": (CalendarUnit | None, Field(description="The unit of the buckets.")),
        "buckets": (list[bucket], Field(description="In order of time, empty ones too.")),
        **build_as_of_fields(),
    }
    return create_model(name, **series)
