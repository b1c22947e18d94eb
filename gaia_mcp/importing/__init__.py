"""Importing Python files of the user: agents and handlers. What lies in such a file is for its loader to know.

Such a file can do anything while it is imported. It finds the modules beside it, as a script does, and hides no module
from the rest of the program, whatever it is called.
"""
