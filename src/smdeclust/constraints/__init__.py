"""What people know about pairs: must-link groups, the cannot-link graph, conflicts."""
