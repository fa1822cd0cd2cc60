"""What a newer version changes for a project, and the upgrade to it.

The version that is installed describes the project (`describe`), the newer version describes a copy
of it, and the newer version compares both descriptions (`compare`).
"""
