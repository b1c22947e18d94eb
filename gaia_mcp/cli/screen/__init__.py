"""What a person sees: answers, remarks, tables, colours, images, and what is being waited for."""
