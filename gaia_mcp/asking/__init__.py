"""What a running call asks of its client: input of the person, a model's words, the folders in use.

An author writes one thing, a question (`questions`), and gets a typed answer. How it travels is not the author's
concern. A client of the handshake era gets a request, and the thread waits for the response. One of the stateless era
gets `input_required` as the result: the run ends there, the client sends the call again with the answers, and the tool
runs again from its beginning. What it asked before is answered at once in that run, from the record (`record`) that has
travelled with the client, sealed (`sealing`). So a tool must ask the same again as long as it gets the same answers;
what must not happen twice stands in `once`.
"""
