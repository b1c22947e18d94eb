"""YAML as text: reads it with limits, and changes single values; keeps every other character.

`reading` returns plain values, or nodes with their positions; `writing` formats a new value as lines; `editing`
inserts such lines into a text.
"""
