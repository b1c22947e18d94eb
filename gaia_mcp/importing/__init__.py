"""Importing the user's Python files: agents and handlers. Their loaders interpret the content.

Such a file can run any code while it is imported. It can import the modules in its folder, as a script can, and shadows
no module for the rest of the program, whatever its name.
"""
