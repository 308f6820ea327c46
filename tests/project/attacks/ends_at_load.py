"""THREATS 26: end the process while the file is loaded"""

import os

os._exit(0)
