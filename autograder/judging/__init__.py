"""Compare values with references, find evidence, recognise known mistakes."""
