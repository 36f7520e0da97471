"""Names and tables to parts: the registry, the settings of a study, and what is built from them."""

from infonn.specs.build import create_study, load_study

__all__ = ["create_study", "load_study"]
