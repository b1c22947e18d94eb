"""Systems that stand on the client, the server and the fleet, and can each be removed: no other package knows them."""
