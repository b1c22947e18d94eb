"""Servers in use: one (`session`), and many as one provider (`gateway`)."""
