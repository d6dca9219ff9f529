-- The run and the step that a run was forked from; they may be gone.
ALTER TABLE workflow_executions ADD COLUMN forked_from TEXT;
ALTER TABLE workflow_executions ADD COLUMN forked_step TEXT;
-- Of a run that began with results of another one: steps whose `ordinal` is at most this are that one's.
ALTER TABLE workflow_executions ADD COLUMN reused INTEGER NOT NULL DEFAULT 0;

-- As before; of a run that was forked the steps that it was given do not count.
DROP TRIGGER IF EXISTS update_workflow_metrics_on_completion;

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
