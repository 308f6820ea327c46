"""Student code: load files and notebooks, perform requests, bring back plain values."""
