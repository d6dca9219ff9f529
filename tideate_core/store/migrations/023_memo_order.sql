-- The number of the run's last event when a memo was made; NULL: by an earlier version. In a fork, memos of
-- the run that it comes from are before 0.
ALTER TABLE workflow_memos ADD COLUMN event INTEGER;
