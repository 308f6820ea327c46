"""Check your work: python check.py [EXERCISE ...]"""

import sys
from pathlib import Path

try:
    from autograder.selfcheck.command import main
except ModuleNotFoundError as missing:
    sys.exit(f"check.py: the package '{missing.name}' is missing; run: python -m pip install -r requirements.txt")

sys.exit(main(sys.argv[1:], Path(__file__).resolve().parent))
