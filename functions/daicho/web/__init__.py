"""The API: what a `Daicho` declares, over HTTP, and its description."""
