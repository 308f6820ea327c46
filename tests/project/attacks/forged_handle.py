"""THREATS 14: answer a request to make an object with something that is no handle

Reached: init_qkv_proj: the object could not be made
"""

from autograder.running.perform import Performer, Reply

Performer._create = lambda self, request: Reply("LEAK")
