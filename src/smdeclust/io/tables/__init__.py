"""One module a data file format; each returns a Table."""
