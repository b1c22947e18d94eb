"""A gateway: configured servers as one provider, which any front can serve.

`GatewayProvider` answers a client's requests through its *backends*, each of which is one server with its client. Lists
are fetched from all backends concurrently (`listing`), and equal names get the server as a prefix (`naming`). A request
about one tool, prompt or resource is forwarded to its owner with only the name changed, and the result is returned
unchanged.

The client's connection and the server's connection may have different eras. The difference matters for the server's
questions (elicitation, sampling and roots), in four cases. A stateless server asks by an `input_required` result. The
result is kept in the record of the client's call, and the questions go to the client, whose call either waits for the
answers or ends and is retried with them (`forwarding`). A server of the handshake era asks by a request, while its call
is open. If the client's call waits too, the request is forwarded at once. If the client's call has to end, the call of
the server runs in its own thread, and the client's retry resumes it (`questions`).

An unreachable server does not affect the others: it is omitted from the lists, whose `_meta` names it.
"""
