-- The tables of the specification's document 5, with these differences:
--   * a checkpoint is a cursor into the ended steps, not a copy of their results;
--   * metrics count each run once, averages are correct from the second run on (correction 6), and checkpoints
--     made before the day's first run ends are counted (correction 7);
--   * averages are REAL: integers would lose their fraction at every run.
-- Times are milliseconds since the epoch. A JSON column holds JSON text, or `@` and the name of a file in
-- `objects/` with that text (no JSON text begins with `@`).

CREATE TABLE workflows (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  description TEXT,
  version TEXT DEFAULT '1.0.0',
  definition TEXT NOT NULL, -- hash of the newest definition, stored in workflow_definitions
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  metadata TEXT -- JSON
);

CREATE INDEX idx_workflows_name ON workflows(name);
CREATE INDEX idx_workflows_created_at ON workflows(created_at DESC);

CREATE TABLE workflow_executions (
  id TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'idle',
  current_step TEXT,
  completed_steps INTEGER NOT NULL DEFAULT 0,
  total_steps INTEGER NOT NULL,
  results TEXT, -- JSON: the run's response; results of steps are in workflow_steps
  error TEXT,
  error_code TEXT,
  started_at INTEGER NOT NULL,
  completed_at INTEGER,
  duration INTEGER,
  definition_hash TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL DEFAULT '',
  path TEXT,
  request TEXT NOT NULL DEFAULT '{}', -- JSON
  prompt TEXT NOT NULL DEFAULT '', -- its beginning, for lists
  failed_steps INTEGER NOT NULL DEFAULT 0,
  reason TEXT,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL, -- US dollars
  files TEXT NOT NULL DEFAULT '[]', -- JSON array
  parent_id TEXT REFERENCES workflow_executions(id) ON DELETE CASCADE,
  parent_step TEXT,
  restored_from TEXT, -- a checkpoint's id, which may be gone
  cached_tokens INTEGER NOT NULL DEFAULT 0, -- input tokens that were in the provider's cache
  continues TEXT, -- the run that this one continues; it may be gone
  forked_from TEXT, -- a run, which may be gone
  forked_step TEXT,
  reused INTEGER NOT NULL DEFAULT 0, -- steps with an `ordinal` up to this were done by another run
  compared TEXT, -- JSON array: the models of the comparison of this run, including its own
  FOREIGN KEY (workflow_id) REFERENCES workflows(id) ON DELETE CASCADE,
  CHECK (status IN (
    'idle', 'parsing', 'validating_workflow', 'building_dependency_graph',
    'scheduling_steps', 'executing_steps', 'awaiting_completion',
    'creating_checkpoint', 'restoring_from_checkpoint', 'aggregating_results',
    'completed', 'failed', 'paused', 'cancelled'
  ))
);

CREATE INDEX idx_workflow_executions_workflow_id ON workflow_executions(workflow_id);
CREATE INDEX idx_workflow_executions_status ON workflow_executions(status);
CREATE INDEX idx_workflow_executions_started_at ON workflow_executions(started_at DESC);
CREATE INDEX idx_workflow_executions_parent_id ON workflow_executions(parent_id)
  WHERE parent_id IS NOT NULL;
CREATE INDEX idx_workflow_executions_definition_hash ON workflow_executions(definition_hash);

CREATE TABLE workflow_steps (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  step_name TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  task TEXT NOT NULL,
  dependencies TEXT, -- JSON array
  status TEXT NOT NULL DEFAULT 'pending',
  result TEXT, -- JSON
  error TEXT,
  duration INTEGER,
  started_at INTEGER,
  completed_at INTEGER,
  position INTEGER, -- in the definition, from 0; NULL for other steps
  ordinal INTEGER, -- order of ending, from 1; NULL before
  attempts INTEGER NOT NULL DEFAULT 0,
  error_code TEXT,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL, -- US dollars
  files TEXT NOT NULL DEFAULT '[]', -- JSON array
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  memory INTEGER, -- peak memory of the process when the step ended, in bytes
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (status IN ('pending', 'running', 'completed', 'failed', 'skipped')),
  -- document 5's index on execution_id is a prefix of this one
  UNIQUE(execution_id, step_id)
);

-- only failed steps: an index on all would cost two pages of every commit of a step
CREATE INDEX idx_workflow_steps_status ON workflow_steps(status) WHERE status = 'failed';
CREATE INDEX idx_workflow_steps_agent_id ON workflow_steps(agent_id);

-- Manual checkpoints and pauses. An automatic checkpoint is a completed step and its ordinal: a row of its own,
-- with indexes and trigger, would cost as much as the rest of the step.
CREATE TABLE workflow_checkpoints (
  id TEXT PRIMARY KEY,
  execution_id TEXT NOT NULL,
  step_id TEXT NOT NULL, -- the step before it, '' at the start
  cursor INTEGER NOT NULL, -- includes all steps with an `ordinal` up to this
  manual INTEGER NOT NULL DEFAULT 0, -- 1: created by a person
  created_at INTEGER NOT NULL,
  memory INTEGER NOT NULL, -- peak memory of the process at that time, in bytes
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (manual IN (0, 1))
) WITHOUT ROWID;

CREATE INDEX idx_workflow_checkpoints_execution_id ON workflow_checkpoints(execution_id, cursor);
-- ascending, unlike document 5's: inserting at the front makes SQLite move rows between pages
CREATE INDEX idx_workflow_checkpoints_created_at ON workflow_checkpoints(created_at);

-- ids of automatic checkpoints are `RUN.ORDINAL`
CREATE VIEW all_checkpoints AS
  SELECT id, execution_id, step_id, cursor, created_at, manual, memory FROM workflow_checkpoints
  UNION ALL
  SELECT execution_id || '.' || ordinal, execution_id, step_id, ordinal, completed_at, 0, memory
  FROM workflow_steps WHERE status = 'completed' AND ordinal IS NOT NULL;

CREATE TABLE workflow_graphs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  nodes TEXT NOT NULL, -- JSON array
  edges TEXT NOT NULL, -- JSON array of pairs
  execution_order TEXT NOT NULL, -- JSON array of arrays
  created_at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  UNIQUE(execution_id) -- an index on execution_id, too
);

CREATE TABLE workflow_metrics (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  workflow_id TEXT NOT NULL,
  total_executions INTEGER NOT NULL DEFAULT 0,
  successful_executions INTEGER NOT NULL DEFAULT 0,
  failed_executions INTEGER NOT NULL DEFAULT 0,
  avg_duration REAL,
  avg_steps_completed REAL,
  checkpoints_created INTEGER NOT NULL DEFAULT 0,
  last_executed_at INTEGER,
  date TEXT NOT NULL, -- YYYY-MM-DD, UTC
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE(workflow_id, date) -- an index on workflow_id, too
);

CREATE INDEX idx_workflow_metrics_date ON workflow_metrics(date);

-- The checkpoints of a run are the steps that it completed itself, not reused ones. In DO UPDATE the right-hand
-- sides see the old row: total_executions is the count before this run.
CREATE TRIGGER update_workflow_metrics_on_completion
AFTER UPDATE OF status ON workflow_executions
WHEN NEW.status IN ('completed', 'failed', 'cancelled')
  AND OLD.status NOT IN ('completed', 'failed', 'cancelled')
BEGIN
  INSERT INTO workflow_metrics (
    workflow_id, total_executions, successful_executions, failed_executions,
    avg_duration, avg_steps_completed, checkpoints_created, last_executed_at, date, created_at, updated_at
  )
  VALUES (
    NEW.workflow_id,
    1,
    NEW.status = 'completed',
    NEW.status = 'failed',
    COALESCE(NEW.duration, 0),
    NEW.completed_steps,
    (
      SELECT COUNT(*) FROM workflow_steps
      WHERE execution_id = NEW.id AND status = 'completed' AND ordinal > NEW.reused
        AND (NEW.restored_from IS NULL OR completed_at >= NEW.started_at)
    ),
    COALESCE(NEW.completed_at, NEW.started_at),
    DATE(NEW.started_at / 1000, 'unixepoch'),
    COALESCE(NEW.completed_at, NEW.started_at),
    COALESCE(NEW.completed_at, NEW.started_at)
  )
  ON CONFLICT(workflow_id, date) DO UPDATE SET
    total_executions = total_executions + 1,
    successful_executions = successful_executions + excluded.successful_executions,
    failed_executions = failed_executions + excluded.failed_executions,
    avg_duration = (COALESCE(avg_duration, 0) * total_executions + excluded.avg_duration)
      / (total_executions + 1),
    avg_steps_completed = (COALESCE(avg_steps_completed, 0) * total_executions + excluded.avg_steps_completed)
      / (total_executions + 1),
    checkpoints_created = checkpoints_created + excluded.checkpoints_created,
    last_executed_at = excluded.last_executed_at,
    updated_at = excluded.updated_at;
END;

-- UPDATE first, because the day's row usually exists: each INSERT would update sqlite_sequence, one more page in
-- every step's commit. Within a trigger, changes() is the count of the previous statement.
CREATE TRIGGER update_metrics_on_checkpoint
AFTER INSERT ON workflow_checkpoints
BEGIN
  UPDATE workflow_metrics SET checkpoints_created = checkpoints_created + 1, updated_at = NEW.created_at
  WHERE date = DATE(NEW.created_at / 1000, 'unixepoch')
    AND workflow_id = (SELECT workflow_id FROM workflow_executions WHERE id = NEW.execution_id);
  INSERT INTO workflow_metrics (workflow_id, checkpoints_created, date, created_at, updated_at)
  SELECT workflow_id, 1, DATE(NEW.created_at / 1000, 'unixepoch'), NEW.created_at, NEW.created_at
  FROM workflow_executions WHERE id = NEW.execution_id AND changes() = 0;
END;

-- Tables for durable runs beyond document 5: definitions by hash, events, memos, leases, control requests.

-- Each text is stored once, for any number of runs.
CREATE TABLE workflow_definitions (
  hash TEXT PRIMARY KEY, -- blake3 of the text, 64 hexadecimal digits
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CHECK (kind IN ('graph', 'machine'))
);

CREATE TABLE workflow_events (
  execution_id TEXT NOT NULL,
  sequence INTEGER NOT NULL, -- from 1, without gaps
  name TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL, -- JSON
  PRIMARY KEY (execution_id, sequence),
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

-- Facts that a step stored before it ended: answers, transitions, replies.
CREATE TABLE workflow_memos (
  execution_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL, -- JSON
  cursor INTEGER NOT NULL DEFAULT 0, -- number of ended steps at that time
  event INTEGER NOT NULL, -- number of the last event at that time; negative if a fork copied the memo
  PRIMARY KEY (execution_id, step_id, key),
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

-- The process that owns a run; no row: no owner.
CREATE TABLE workflow_leases (
  execution_id TEXT PRIMARY KEY,
  owner TEXT NOT NULL, -- globally unique
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  process_started TEXT NOT NULL, -- distinguishes a process from a later one with the same pid
  heartbeat_at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX idx_workflow_leases_owner ON workflow_leases(owner);

-- Control requests and messages to a run's owner, who deletes them.
CREATE TABLE workflow_wishes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  wish TEXT NOT NULL,
  text TEXT NOT NULL DEFAULT '', -- for the model
  at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (wish IN ('pause', 'resume', 'cancel', 'say'))
);

CREATE INDEX idx_workflow_wishes_execution_id ON workflow_wishes(execution_id);

-- Files in objects/ that a run's JSON columns reference: an unreferenced file can be deleted. Rows are written and
-- files deleted only under the database's write lock, so that neither misses the other.
CREATE TABLE workflow_objects (
  execution_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (execution_id, hash),
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX idx_workflow_objects_hash ON workflow_objects(hash);

-- Gate decisions by gate and day (UTC), so that the table does not grow with the runs.

CREATE TABLE gate_statistics (
  gate INTEGER NOT NULL,
  date TEXT NOT NULL,
  passed INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  auto_fixed INTEGER NOT NULL DEFAULT 0, -- included in passed
  total_duration INTEGER NOT NULL DEFAULT 0, -- milliseconds
  longest_duration INTEGER NOT NULL DEFAULT 0, -- milliseconds
  last_at INTEGER NOT NULL,
  PRIMARY KEY (gate, date),
  CHECK (gate BETWEEN 1 AND 5)
) WITHOUT ROWID;

-- Full text of runs for search: the prompt and, after the end, the models' answers.
CREATE TABLE run_texts (
  number INTEGER PRIMARY KEY, -- ascending in the order of the runs' starts
  execution_id TEXT NOT NULL UNIQUE,
  prompt TEXT NOT NULL,
  answers TEXT NOT NULL DEFAULT '',
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
);

CREATE VIRTUAL TABLE run_words USING fts5(
  prompt, answers, content = 'run_texts', content_rowid = 'number',
  tokenize = 'porter unicode61 remove_diacritics 2' -- English stems
);

-- these triggers also follow deletions by a foreign key
CREATE TRIGGER run_texts_added AFTER INSERT ON run_texts BEGIN
  INSERT INTO run_words (rowid, prompt, answers) VALUES (NEW.number, NEW.prompt, NEW.answers);
END;

CREATE TRIGGER run_texts_deleted AFTER DELETE ON run_texts BEGIN
  INSERT INTO run_words (run_words, rowid, prompt, answers) VALUES ('delete', OLD.number, OLD.prompt, OLD.answers);
END;

CREATE TRIGGER run_texts_changed AFTER UPDATE ON run_texts BEGIN
  INSERT INTO run_words (run_words, rowid, prompt, answers) VALUES ('delete', OLD.number, OLD.prompt, OLD.answers);
  INSERT INTO run_words (rowid, prompt, answers) VALUES (NEW.number, NEW.prompt, NEW.answers);
END;
