"""From what was handed in to a clean tree of files, whatever it came in."""
