"""The release of a ledger to a stage: what is refused, and what has to be true before code writes.

The lock file says what exists, the backfill items of the table what the stage has.
"""
