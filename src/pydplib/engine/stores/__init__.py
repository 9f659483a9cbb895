"""One engine for each place where tables live, and the files and cells that it reads."""
