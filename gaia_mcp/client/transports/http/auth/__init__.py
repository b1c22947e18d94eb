"""Authorization: how a client comes to the token that a server wants, keeps it, and renews it.

A server that wants a token refuses a request with 401 and a challenge. The challenge leads to the metadata of the
resource (RFC 9728), that to an authorization server and its metadata (RFC 8414, or OpenID Connect discovery). There the
client is known by an identity: one that was registered beforehand, the URL of a document about it, or one that it
registers now. With it a person grants access in a browser (authorization code with PKCE), or a program gets a token
with credentials of its own. What was granted, the *grant*, is kept by the issuer and the resource that it is for; it is
sent to no other origin, and renewed with its refresh token.

The rules take documents, the time and random bytes as arguments: `challenges`, `addresses`, `metadata`, `scopes`,
`identity`, `authorization`, `tokens`. The edges fetch, listen and keep: `fetching`, `discovery`, `listener`, `grants`.
`login` is the way with a person, `machine` the ways without one, and `oauth` is what a channel uses of all this.
"""
