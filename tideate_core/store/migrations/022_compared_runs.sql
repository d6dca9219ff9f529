-- The models of a comparison that a run is part of, its own among them, as a list.
ALTER TABLE workflow_executions ADD COLUMN compared TEXT;
