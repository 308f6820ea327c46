"""THREATS 29: an import that never ends"""

import time

time.sleep(10_000)
