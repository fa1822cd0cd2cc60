"""Sales whose figures are compared with DuckDB's: their rows, declarations, judge and comparison."""
