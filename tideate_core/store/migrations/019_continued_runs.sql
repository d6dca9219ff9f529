-- The run whose conversation a run goes on with; it may be gone.
ALTER TABLE workflow_executions ADD COLUMN continues TEXT;
