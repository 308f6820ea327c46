"""The gate: references, mistakes, variants, attacks."""
