"""What a person has configured: their servers, the projects they trust, and the file it all lies in."""
