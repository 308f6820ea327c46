"""THREATS 14: answer with no columns at all when many items were asked for"""

from autograder.perform import Performer, Reply

Performer._items = lambda self, request: Reply({"stacked": ()})
Performer._create = lambda self, request: Reply(sys.modules["autograder.plain"].Handle(0))
import sys
