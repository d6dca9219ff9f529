-- Was a table of names by which a person's own databases were known, while they were kept in projects.
SELECT 1;
