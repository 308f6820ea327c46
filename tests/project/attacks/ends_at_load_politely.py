"""THREATS 26: raise SystemExit while the file is loaded

Reached: SystemExit: LEAK
"""

raise SystemExit("LEAK")
