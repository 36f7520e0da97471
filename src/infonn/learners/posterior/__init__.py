"""Many draws of where the items lie, instead of one embedding."""
