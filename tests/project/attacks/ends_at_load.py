"""THREATS 26: end the process while the file is loaded

Reached: while your file was loaded: your code ended Python itself
"""

import os

os._exit(0)
