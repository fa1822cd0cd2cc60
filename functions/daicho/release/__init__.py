"""The release of a ledger to a stage: what is refused, and what has to be true before code writes.

The lock file lists what exists. The backfill items of the table show what the stage has.
"""
