"""What a call needs beside its session: the plan of it, its arguments, the person who answers its server."""
