"""From a clean tree to results.json."""
