"""A project's package of domains for tests: one small system for each kind of declaration.

`tests.support.sample_project` serves it, and has its generations.
"""
