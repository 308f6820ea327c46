r"""THREATS 26, 28: exported scripts that end Python at top level, politely, at once and from a default argument

Reached: query121: A2S1\.py does not define query121
"""

EXITS = """
# In[1]:

import os, sys, signal
sys.exit(0)

# In[2]:

os._exit(0)

# In[3]:

def attn_softmax(A, code=os._exit(3)):
    return A

# In[4]:

get_ipython().run_cell_magic('time', '', 'os.kill(os.getpid(), signal.SIGKILL)\\n')
query131 = os.abort()
"""
FILES = {"A2S1.py": EXITS, "A2S2.py": EXITS}
