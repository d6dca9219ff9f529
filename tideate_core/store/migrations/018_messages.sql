-- What others ask of a run's owner may be that its model is told something.
CREATE TABLE workflow_wishes_with_text (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  wish TEXT NOT NULL,
  text TEXT NOT NULL DEFAULT '',
  at INTEGER NOT NULL,
  FOREIGN KEY (execution_id) REFERENCES workflow_executions(id) ON DELETE CASCADE,
  CHECK (wish IN ('pause', 'resume', 'cancel', 'say'))
);

-- numbers go on: who has seen one looks for those behind it
INSERT INTO sqlite_sequence (name, seq)
  SELECT 'workflow_wishes_with_text', seq FROM sqlite_sequence WHERE name = 'workflow_wishes';

INSERT INTO workflow_wishes_with_text (id, execution_id, wish, at) SELECT id, execution_id, wish, at FROM workflow_wishes;

DROP TABLE workflow_wishes;

ALTER TABLE workflow_wishes_with_text RENAME TO workflow_wishes;

CREATE INDEX idx_workflow_wishes_execution_id ON workflow_wishes(execution_id);
