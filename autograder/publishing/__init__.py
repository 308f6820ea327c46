"""The student release and the Gradescope bundle, made from the solutions."""
