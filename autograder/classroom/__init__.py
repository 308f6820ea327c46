"""A whole class: export, roster, gradebook, cluster."""
