"""THREATS 29: an import that never ends

Reached: while your file was loaded: did not finish within
"""

import time

time.sleep(10_000)
