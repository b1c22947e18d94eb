"""What the shell is offered at a TAB, and how it comes to ask."""
