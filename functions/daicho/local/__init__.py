"""Handlers of stage `local`, which fail on request: no other stage has this package (ADR 0175)."""
