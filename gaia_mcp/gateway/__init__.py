"""A gateway: configured servers as one provider, which any front shows.

`GatewayProvider` answers a client's requests by those of its *backends*, each of which is one server and the client for
it. A list is asked of all of them at once (`listing`), and what two of them call the same is told apart (`naming`). A
request about one tool, prompt or resource goes to its owner as it came, but for its name, and so does the result.

The eras of both sides are chosen apart, and what differs between them meets in the questions of a server, of which
there are four cases. A stateless server asks by its result: that is kept in the record of the client's call, and its
questions are asked of the client, whose call either waits for the answers or ends and runs again with them (`rounds`).
A server of the handshake era asks by a request, while its call is open. Where the client's call waits too, the request
is asked on at once. Where the client's call has to end, that of the server runs in a thread of its own, and the next
run of the client's call takes it up again (`runs`).

One server that cannot be reached hides none of the others: it is left out of the lists, which name it.
"""
