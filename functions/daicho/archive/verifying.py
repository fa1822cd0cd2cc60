"""Verifying the archive: every deletion that was seen against every row that is there.

Of each chain: its links follow each other without gap or overlap from the start to the watermark
that the table holds, each holds what its metadata says, no row stands twice, and there are as
many rows as the consumer was handed deletions. The report names what is not so.
"""
