"""THREATS 29: an import that never ends

Reached: while your file was loaded: did not finish within 2 s, in which it only waited
"""

import time

time.sleep(10_000)
