"""Authorization: how a client obtains, stores and renews the token that a server requires.

A server that requires a token rejects a request with 401 and a challenge. The challenge leads to the metadata of the
resource (RFC 9728), which names an authorization server with its metadata (RFC 8414, or OpenID Connect discovery). The
client has an identity there: registered beforehand, the URL of a document about the client, or registered dynamically.
With it the user grants access in a browser (authorization code with PKCE), or a program obtains a token with its own
credentials. The result, the *grant*, is stored by issuer and resource, sent to no other origin, and renewed with its
refresh token.

The rules take documents, the time and random bytes as arguments: `challenges`, `addresses`, `metadata`, `scopes`,
`identity`, `authorization`, `tokens`. The edges fetch, listen and store: `fetching`, `discovery`, `listener`, `grants`.
`login` is the flow with a user, `machine` the flows without one, and `oauth` is the interface for channels.
"""
