"""Scores of figures and rankings on the wire: their values and their models."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from daicho.declare.aggregates import TallyDeclaration
from daicho.declare.figures.measures import KINDS, Count
from daicho.declare.parts import PartSpec
from daicho.declare.queries import RankingQuery
from daicho.declare.results import Chart, FieldFigures, Score, Series, SeriesBucket
from daicho.web.http.operation import Call, Parameter, Reply
from daicho.web.http.responses import render_list
from daicho.web.schema.model_refs import ModelRef
from daicho.web.schema.models import build_unreadable_field
from daicho.web.schema.wire_types import DecimalText, render_instant, to_text_type

LIVE = Parameter(
    "live",
    to_text_type(bool),
    "Add up all that is counted now, instead of the last total.",
    default=False,
)
LIVE_RANKING = replace(
    LIVE, description="Rank the members of the last rollup, at most 100, by what is counted now."
)
AS_OF_DESCRIPTION = (
    "The figures include everything up to this time: every change whose stream record was made "
    "before. Later changes may be included too, so it is not their age. It never moves back. Null "
    "if it is unknown, and for fast counters."
)
ROLLED_UP_DESCRIPTION = "True: the total of the last rollup. False: added up for this request."
UNCERTAIN_DESCRIPTION = (
    "True: the figures lack changes after `as_of` until the stack is recovered from an outage. "
    "Absent otherwise."
)
RANK_DESCRIPTION = (
    "The place in the ranking, from 1. Members with equal totals have places of their own, in the "
    "order of their names: no place is shared."
)


def build_as_of_values(figures: Score | Chart | Series) -> dict[str, Any]:
    """The values that state what the figures include: a time or null, and whether rolled up."""
    as_of = figures.as_of
    uncertain = {"uncertain": True} if figures.uncertain else {}
    return {
        **uncertain,
        "as_of": None if as_of is None else render_instant(as_of),
        "rolled_up": figures.rolled_up,
    }


def build_figure_values(declared: TallyDeclaration, score: Score | SeriesBucket) -> dict[str, Any]:
    """The values of the figures themselves: count, total, and the further figures by field."""
    values: dict[str, Any] = {"count": score.items}
    if not isinstance(declared.measure, Count):
        # The type depends on the field and not on the value: 100.00 and 100.25 have one type.
        whole = isinstance(score.total, int) and not _sums_decimals(declared)
        values["total"] = score.total if whole else _render_decimal(Decimal(score.total))
    if score.figures:
        values["figures"] = {
            name: _render_figures(figures, _list_kinds(declared, name))
            for name, figures in score.figures.items()
        }
    return values


def render_part_name(part: PartSpec) -> str:
    """The name of a component of a listing or an aggregate on the wire."""
    return part.bucket or part.field.name


def answer_ranking(declared: TallyDeclaration, query: RankingQuery, call: Call) -> Reply:
    """Answer with a page of groups, highest total first."""
    values = call.values
    page = call.book.top(query, limit=values["limit"], cursor=values["cursor"], live=values["live"])
    rows = [json.dumps(build_score_values(declared, score, ranked=True)) for score in page.items]
    as_of = build_as_of_values(page)
    return render_list(rows, page.cursor, values=as_of, unreadable=page.unreadable)


def build_score_values(declared: TallyDeclaration, score: Score, *, ranked: bool) -> dict[str, Any]:
    """The values of a score by name: those of its groups (song), count, rank; or total."""
    names = [render_part_name(part) for part in declared.by]
    values: dict[str, Any] = dict(zip(names, score.by, strict=False))
    values |= build_figure_values(declared, score)
    if ranked:
        values["rank"] = score.rank
        if score.beyond is not None:
            values["rank_more_than"] = score.beyond
    return values


class BucketView(BaseModel):
    """The items whose value is from ``low`` to below ``high``; null: no bound."""

    low: DecimalText | None
    high: DecimalText | None
    count: int


class FiguresView(BaseModel):
    """The figures of one field, of the items that have a value."""

    count: int
    total: DecimalText
    mean: DecimalText | None = Field(description="Null if nothing was counted. 12 places.")
    variance: DecimalText | None = Field(None, description="Of the whole population. 12 places.")
    min: DecimalText | None = Field(None, description="The smallest value.")
    max: DecimalText | None = Field(None, description="The largest value.")
    histogram: list[BucketView] = Field(default=[], description="Every declared bucket.")


def _list_kinds(declared: TallyDeclaration, name: str) -> frozenset[str]:
    """The kinds of the further figures of a field."""
    return frozenset(
        KINDS[type(figure)]
        for figure in declared.figures
        if not isinstance(figure, Count) and figure.field.name == name
    )


def _render_figures(figures: FieldFigures, kinds: frozenset[str]) -> dict[str, Any]:
    """The figures that are always there, and those that are declared."""
    values: dict[str, Any] = {
        "count": figures.count,
        "total": _render_decimal(figures.total),
        "mean": _render_decimal(figures.mean),
    }
    for kind in ("variance", "min", "max"):
        if kind in kinds:
            values[kind] = _render_decimal(getattr(figures, kind))
    if "percentiles" in kinds:
        values["histogram"] = [
            {
                "low": _render_decimal(bucket.low),
                "high": _render_decimal(bucket.high),
                "count": bucket.count,
            }
            for bucket in figures.histogram
        ]
    return values


def _render_decimal(value: Decimal | None) -> str | None:
    return None if value is None else f"{value:f}"


def refer_to_score(declared: TallyDeclaration) -> ModelRef:
    """A reference to the model of a score."""
    return ModelRef(_build_score_model, (declared,))


def refer_to_chart(declared: TallyDeclaration) -> ModelRef:
    """A reference to the model of a page of a ranking."""
    return ModelRef(_build_chart_model, (declared,), is_page=True)


def _build_chart_model(declared: TallyDeclaration) -> type[BaseModel]:
    model = create_model(f"{name_model(declared)}Member", **_build_score_fields(declared))
    fields: dict[str, Any] = {"items": (list[model], ...), "cursor": (str | None, ...)}  # type: ignore[valid-type]
    description = "A page of a ranking; the cursor is null on the last page only."
    fields |= build_as_of_fields() | build_unreadable_field()
    return create_model(f"{name_model(declared)}Page", __doc__=description, **fields)


def build_as_of_fields() -> dict[str, Any]:
    """The fields of the model of `build_as_of_values`."""
    as_of = Field(description=AS_OF_DESCRIPTION, json_schema_extra={"format": "date-time"})
    return {
        "as_of": (Annotated[str | None, as_of], ...),
        "rolled_up": (bool, Field(description=ROLLED_UP_DESCRIPTION)),
        "uncertain": (bool, Field(False, description=UNCERTAIN_DESCRIPTION)),
    }


def _build_score_model(declared: TallyDeclaration) -> type[BaseModel]:
    fields = _build_score_fields(declared) | build_as_of_fields()
    return create_model(name_model(declared), **fields)


def _build_score_fields(declared: TallyDeclaration) -> dict[str, Any]:
    fields: dict[str, Any] = {render_part_name(part): (str, ...) for part in declared.by}
    fields |= build_figure_fields(declared)
    if declared.ranked:
        fields["rank"] = (Annotated[int | None, Field(description=RANK_DESCRIPTION)], ...)
        fields["rank_more_than"] = (int, Field(default=None, description="Instead of a rank."))
    return fields


def name_model(declared: TallyDeclaration) -> str:
    """How the names of the models of a declaration begin: ``DownloadChart``."""
    return f"{declared.entity}{''.join(word.title() for word in declared.name.split('_'))}"


def build_figure_fields(declared: TallyDeclaration) -> dict[str, Any]:
    """The fields of the model of `build_figure_values`."""
    fields: dict[str, Any] = {"count": (int, ...)}
    if not isinstance(declared.measure, Count):
        fields["total"] = (DecimalText if _sums_decimals(declared) else int, ...)
    if declared.figures:
        fields["figures"] = (_build_figures_model(declared), Field(default=None))
    return fields


def _build_figures_model(declared: TallyDeclaration) -> type[BaseModel]:
    measured: dict[str, Any] = {
        figure.field.name: (FiguresView, ...)
        for figure in declared.figures
        if not isinstance(figure, Count)
    }
    description = "The further figures, by field."
    return create_model(f"{name_model(declared)}Figures", __doc__=description, **measured)


@cache
def _sums_decimals(declared: TallyDeclaration) -> bool:
    measure = declared.measure
    return not isinstance(measure, Count) and measure.field.kind == "decimal"
