-- The tables of the specification's document 5, with these differences:
--   * a checkpoint is a cursor into the steps that ended, not a copy of their results;
--   * a metrics row is counted once per run, its averages are right from the second run on (correction 6),
--     and checkpoints that are made before the day's first run ends are counted, too (correction 7);
--   * averages are REAL: an integer would lose its fraction at every run.
-- Times are milliseconds since the epoch. A JSON column holds JSON text, or `@` and the name of a file in
-- `objects/` that holds it (no JSON text begins with `@`).

CREATE TABLE workflows (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  description TEXT,
  version TEXT DEFAULT '1.0.0',
  definition TEXT NOT NULL, -- hash of the newest one, whose text is in workflow_definitions
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
  results TEXT, -- JSON: the run's response; those of its steps are in workflow_steps
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
  cached_tokens INTEGER NOT NULL DEFAULT 0, -- of the input tokens, those that a provider had in its cache
  continues TEXT, -- the run whose conversation this one goes on with; it may be gone
  forked_from TEXT, -- a run, which may be gone
  forked_step TEXT,
  reused INTEGER NOT NULL DEFAULT 0, -- steps whose `ordinal` is at most this are those of another run
  compared TEXT, -- JSON array: the models of a comparison that this run is part of, its own among them
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
  position INTEGER, -- in the definition, from 0; NULL of others
  ordinal INTEGER, -- among the steps that ended, from 1; NULL before
  attempts INTEGER NOT NULL DEFAULT 0,
  error_code TEXT,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL, -- US dollars
  files TEXT NOT NULL DEFAULT '[]', -- JSON array
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  memory INTEGER, -- bytes that the process had used at most when the step ended
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (status IN ('pending', 'running', 'completed', 'failed', 'skipped')),
  -- document 5's index on execution_id is the beginning of this one's
  UNIQUE(execution_id, step_id)
);

-- only of what went wrong: an index on all of them would cost every step two pages of every commit
CREATE INDEX idx_workflow_steps_status ON workflow_steps(status) WHERE status = 'failed';
CREATE INDEX idx_workflow_steps_agent_id ON workflow_steps(agent_id);

-- Those that a person wanted, and pauses. The one that a run makes by itself is the record of a completed step and
-- its ordinal: a row of its own, with its indexes and its trigger, cost as much as the rest of the step.
CREATE TABLE workflow_checkpoints (
  id TEXT PRIMARY KEY,
  execution_id TEXT NOT NULL,
  step_id TEXT NOT NULL, -- the step after which it was made, '' before the first
  cursor INTEGER NOT NULL, -- all steps whose `ordinal` is at most this belong to it
  manual INTEGER NOT NULL DEFAULT 0, -- 1: a person wanted it
  created_at INTEGER NOT NULL,
  memory INTEGER NOT NULL, -- bytes that the process had used at most when it was made
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (manual IN (0, 1))
) WITHOUT ROWID;

CREATE INDEX idx_workflow_checkpoints_execution_id ON workflow_checkpoints(execution_id, cursor);
-- upwards, unlike document 5's: rows that are always put first keep SQLite moving them from page to page
CREATE INDEX idx_workflow_checkpoints_created_at ON workflow_checkpoints(created_at);

-- ids of the others are `RUN.ORDINAL`
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

-- Steps that the run completed itself count as its checkpoints, those that it was given do not. In DO UPDATE
-- the right-hand sides see the row as it was: total_executions is the count before this run.
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

-- In this order, as the day's row is mostly there: an INSERT would count sqlite_sequence on every time, which is
-- one page more in the commit of every step. Within a trigger, changes() is that of the statement before.
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

-- What durable runs need beyond document 5: definitions by hash, requests, events, memos, leases, wishes.

-- Texts once, however many runs were started with them.
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

-- What a step learned before it ended: answers, transitions, replies.
CREATE TABLE workflow_memos (
  execution_id TEXT NOT NULL,
  step_id TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL, -- JSON
  cursor INTEGER NOT NULL DEFAULT 0, -- how many steps had ended when it was made
  event INTEGER NOT NULL, -- the run's last one when it was made; below 0 for memos that a fork has of another run
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
  text TEXT NOT NULL DEFAULT '', -- for the model
  at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (wish IN ('pause', 'resume', 'cancel', 'say'))
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

-- Words of runs, to be searched: what was asked, and, from its end on, what a run's models answered.
CREATE TABLE run_texts (
  number INTEGER PRIMARY KEY, -- ascending in the order in which runs began
  execution_id TEXT NOT NULL UNIQUE,
  prompt TEXT NOT NULL,
  answers TEXT NOT NULL DEFAULT '',
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE
);

CREATE VIRTUAL TABLE run_words USING fts5(
  prompt, answers, content = 'run_texts', content_rowid = 'number',
  tokenize = 'porter unicode61 remove_diacritics 2' -- of English words the stems
);

-- these follow a deletion by a foreign key, too
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
