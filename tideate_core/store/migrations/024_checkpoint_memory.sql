-- Bytes that the process had used at most when the checkpoint was made; NULL: by an earlier version.
ALTER TABLE workflow_steps ADD COLUMN memory INTEGER;
ALTER TABLE workflow_checkpoints ADD COLUMN memory INTEGER;

DROP VIEW IF EXISTS all_checkpoints;

CREATE VIEW all_checkpoints AS
  SELECT id, execution_id, step_id, cursor, created_at, manual, memory FROM workflow_checkpoints
  UNION ALL
  SELECT execution_id || '.' || ordinal, execution_id, step_id, ordinal, completed_at, 0, memory
  FROM workflow_steps WHERE status = 'completed' AND ordinal IS NOT NULL;
