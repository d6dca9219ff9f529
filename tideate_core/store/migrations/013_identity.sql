-- The names that this database is known by: a person's state directory has the one of whoever made it, and
-- of everybody who trusted it.
CREATE TABLE IF NOT EXISTS store_names (
  name TEXT PRIMARY KEY, -- random, 32 hexadecimal digits
  made_at INTEGER NOT NULL
) WITHOUT ROWID;
