"""Texts, and what they may contain: JSON, JSON with comments, TOML and YAML, changed so that every other character
stays; URI templates; text that may be printed on a terminal; secrets. Pure.
"""
