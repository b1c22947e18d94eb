"""YAML as text: read with limits, and changed in single values, every other character kept.

`reading` returns plain values, or nodes that know their places; `writing` makes the lines of a new value; `editing`
changes a text by such lines.
"""
