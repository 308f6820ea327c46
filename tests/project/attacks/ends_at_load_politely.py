"""THREATS 26: raise SystemExit while the file is loaded"""

raise SystemExit("LEAK")
