"""THREATS 14: answer with no columns at all when many items were asked for

Reached: init_qkv_proj: the items could not be read
"""

from autograder.running.perform import Performer, Reply
from autograder.running.plain import Handle

Performer._create = lambda self, request: Reply(Handle(0))
Performer._items = lambda self, request: Reply({"stacked": ()})
