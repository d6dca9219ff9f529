-- What durable runs need beyond document 5: definitions by hash, requests, events, memos, leases, wishes.

-- Texts once, however many runs were started with them.
CREATE TABLE workflow_definitions (
  hash TEXT PRIMARY KEY, -- blake3 of the text, 64 hexadecimal digits
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CHECK (kind IN ('graph', 'machine'))
);

ALTER TABLE workflow_executions ADD COLUMN definition_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE workflow_executions ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE workflow_executions ADD COLUMN path TEXT;
ALTER TABLE workflow_executions ADD COLUMN request TEXT NOT NULL DEFAULT '{}'; -- JSON
ALTER TABLE workflow_executions ADD COLUMN prompt TEXT NOT NULL DEFAULT ''; -- its beginning, for lists
ALTER TABLE workflow_executions ADD COLUMN failed_steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_executions ADD COLUMN reason TEXT;
ALTER TABLE workflow_executions ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_executions ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_executions ADD COLUMN cost REAL; -- US dollars
ALTER TABLE workflow_executions ADD COLUMN files TEXT NOT NULL DEFAULT '[]'; -- JSON array
ALTER TABLE workflow_executions ADD COLUMN parent_id TEXT
  REFERENCES workflow_executions(id) ON DELETE CASCADE;
ALTER TABLE workflow_executions ADD COLUMN parent_step TEXT;
ALTER TABLE workflow_executions ADD COLUMN restored_from TEXT; -- a checkpoint's id, which may be gone

CREATE INDEX idx_workflow_executions_parent_id ON workflow_executions(parent_id)
  WHERE parent_id IS NOT NULL;
CREATE INDEX idx_workflow_executions_definition_hash ON workflow_executions(definition_hash);

ALTER TABLE workflow_steps ADD COLUMN position INTEGER; -- in the definition, from 0; NULL of others
ALTER TABLE workflow_steps ADD COLUMN ordinal INTEGER; -- among the steps that ended, from 1; NULL before
ALTER TABLE workflow_steps ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_steps ADD COLUMN error_code TEXT;
ALTER TABLE workflow_steps ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_steps ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_steps ADD COLUMN cost REAL; -- US dollars
ALTER TABLE workflow_steps ADD COLUMN files TEXT NOT NULL DEFAULT '[]'; -- JSON array

CREATE TABLE workflow_events (
  execution_id TEXT NOT NULL,
  sequence INTEGER NOT NULL, -- from 1, without gaps
  name TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL, -- JSON
  PRIMARY KEY (execution_id, sequence),
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

-- What a step learned before it ended: answers, transitions, replies.
CREATE TABLE workflow_memos (
  execution_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL, -- JSON
  cursor INTEGER NOT NULL DEFAULT 0, -- how many steps had ended when it was made
  PRIMARY KEY (execution_id, step_id, key),
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Which process a run belongs to; no row: nobody has it.
CREATE TABLE workflow_leases (
  execution_id TEXT PRIMARY KEY,
  owner TEXT NOT NULL, -- unique among all processes there ever were
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  process_started TEXT NOT NULL, -- tells a process from a later one with the same pid
  heartbeat_at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX idx_workflow_leases_owner ON workflow_leases(owner);

-- What others ask of a run's owner; the owner deletes what it has heard.
CREATE TABLE workflow_wishes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  wish TEXT NOT NULL,
  at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (wish IN ('pause', 'resume', 'cancel'))
);

CREATE INDEX idx_workflow_wishes_execution_id ON workflow_wishes(execution_id);

-- Which files in objects/ a run's JSON columns name: a file that no row names can go. Rows are written and
-- files deleted under the database's write lock only, so that neither misses the other.
CREATE TABLE workflow_objects (
  execution_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (execution_id, hash),
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX idx_workflow_objects_hash ON workflow_objects(hash);
