"""Figures of an aggregate as plain data: what is measured, and how a series is stored."""

from __future__ import annotations

from daicho.plan.figures.figure_plans import FigureKind as FigureKind
from daicho.plan.figures.figure_plans import FigurePlan as FigurePlan
from daicho.plan.figures.figure_plans import MeasuredField as MeasuredField
from daicho.plan.figures.figure_plans import list_measured_fields as list_measured_fields
