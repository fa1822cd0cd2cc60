"""Sales whose figures are compared with DuckDB's: rows, declarations, judge and comparison."""
