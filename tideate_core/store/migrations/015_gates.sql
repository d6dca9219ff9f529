-- How the gates decided: counted by gate and day (UTC), so that the table does not grow with the runs.

CREATE TABLE gate_statistics (
  gate INTEGER NOT NULL,
  date TEXT NOT NULL,
  passed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  auto_fixed INTEGER NOT NULL DEFAULT 0, -- of the passed ones
  total_duration INTEGER NOT NULL DEFAULT 0, -- milliseconds
  longest_duration INTEGER NOT NULL DEFAULT 0, -- milliseconds
  last_at INTEGER NOT NULL,
  PRIMARY KEY (gate, date),
  CHECK (gate BETWEEN 1 AND 5)
) WITHOUT ROWID;
