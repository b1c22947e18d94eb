"""Server requests of a running call to its client: elicitation, sampling, and the roots.

An author writes a question (`questions`) and gets a typed answer, independent of the client's era. A client of the
handshake era gets a request, and the thread waits for the response. A client of the stateless era gets `input_required`
as the result: the run ends, the client repeats the call with the answers, and the tool runs again from its beginning.
In that run, earlier questions are answered at once from the record (`record`), which the client sends back in sealed
form (`sealing`). So a tool must ask the same questions again when it gets the same answers; code that must not run
twice belongs in `once`.
"""
