"""YAML as text: reads it with limits, and changes single values; keeps every other character.

`reading` returns plain values, or nodes with their positions; `editing` formats a new value as lines and inserts them
into a text.
"""
