"""Is what a message says true of the code that it is said of?

Every statement of a public check, and what a hidden one says of a failure, is taken by its text: a pattern knows what
it claims, and the claim is computed anew from the code of the mutant and of the solution, without the grader. A
statement that no pattern knows is an error: whoever adds a sentence adds its pattern here.
"""

from benchmarks.truth import hidden, maps, masks, properties, queries, raised, shapes, spans, values, ways, wholes
from benchmarks.truth.said import Saying, Unknown, holds, sayings, told
from benchmarks.truth.witness import Case, Code, Material, Witness

PATTERNS = (
    values,
    wholes,
    shapes,
    raised,
    properties,
    maps,
    masks,
    queries,
    spans,
    ways,
    hidden,
)  # each registers its own

__all__ = ["PATTERNS", "Case", "Code", "Material", "Saying", "Unknown", "Witness", "holds", "sayings", "told"]
