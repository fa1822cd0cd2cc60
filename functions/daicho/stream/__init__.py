"""The consumer of the table's stream: parse, compute, quarantine, announce, fold and write."""
