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
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (status IN ('pending', 'running', 'completed', 'failed', 'skipped')),
  -- document 5's index on execution_id is the beginning of this one's
  UNIQUE(execution_id, step_id)
);

-- only of what went wrong: an index on all of them would cost every step two pages of every commit
CREATE INDEX idx_workflow_steps_status ON workflow_steps(status) WHERE status = 'failed';
CREATE INDEX idx_workflow_steps_agent_id ON workflow_steps(agent_id);

CREATE TABLE workflow_checkpoints (
  id TEXT PRIMARY KEY,
  execution_id TEXT NOT NULL,
  step_id TEXT NOT NULL, -- the step after which it was made, '' before the first
  cursor INTEGER NOT NULL, -- all steps whose `ordinal` is at most this belong to it
  manual INTEGER NOT NULL DEFAULT 0, -- 1: a person wanted it
  created_at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (manual IN (0, 1))
) WITHOUT ROWID;

CREATE INDEX idx_workflow_checkpoints_execution_id ON workflow_checkpoints(execution_id, cursor);
-- upwards, unlike document 5's: rows that are always put first keep SQLite moving them from page to page
CREATE INDEX idx_workflow_checkpoints_created_at ON workflow_checkpoints(created_at);

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

-- In DO UPDATE the right-hand sides see the row as it was: total_executions is the count before this run.
CREATE TRIGGER update_workflow_metrics_on_completion
AFTER UPDATE OF status ON workflow_executions
WHEN NEW.status IN ('completed', 'failed', 'cancelled')
  AND OLD.status NOT IN ('completed', 'failed', 'cancelled')
BEGIN
  INSERT INTO workflow_metrics (
    workflow_id, total_executions, successful_executions, failed_executions,
    avg_duration, avg_steps_completed, last_executed_at, date, created_at, updated_at
  )
  VALUES (
    NEW.workflow_id,
    1,
    NEW.status = 'completed',
    NEW.status = 'failed',
    COALESCE(NEW.duration, 0),
    NEW.completed_steps,
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
