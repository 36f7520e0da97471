"""Items, and the truth if there is one."""
