"""Learn what is similar to what, and what belongs to which class, from as few human answers as possible."""
