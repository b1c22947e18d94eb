"""An agent served over the standard input and output of this process."""
