-- A checkpoint that a run makes by itself is the record of a completed step and its ordinal, as everything that it
-- would say stands there: a row of its own, with its indexes and its trigger, cost as much as the rest of the step.
-- `workflow_checkpoints` has those that a person wanted.

-- those of runs that have not ended are counted again at their end
UPDATE workflow_metrics SET checkpoints_created = checkpoints_created - (
  SELECT COUNT(*) FROM workflow_checkpoints c JOIN workflow_executions e ON e.id = c.execution_id
  WHERE c.manual = 0 AND e.workflow_id = workflow_metrics.workflow_id
    AND DATE(c.created_at / 1000, 'unixepoch') = workflow_metrics.date
    AND e.status NOT IN ('completed', 'failed', 'cancelled')
);

DELETE FROM workflow_checkpoints WHERE manual = 0;

-- ids of the others are `RUN.ORDINAL`
CREATE VIEW all_checkpoints AS
  SELECT id, execution_id, step_id, cursor, created_at, manual FROM workflow_checkpoints
  UNION ALL
  SELECT execution_id || '.' || ordinal, execution_id, step_id, ordinal, completed_at, 0
  FROM workflow_steps WHERE status = 'completed' AND ordinal IS NOT NULL;

-- As before, and the steps that the run completed itself count as its checkpoints: of one that was restored those
-- that it was given do not.
DROP TRIGGER update_workflow_metrics_on_completion;

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
      WHERE execution_id = NEW.id AND status = 'completed' AND ordinal IS NOT NULL
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
