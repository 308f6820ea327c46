"""Courses, the engine that runs checks, points, and words for outcomes."""
