-- Of the input tokens, those that a provider had in its cache.
ALTER TABLE workflow_executions ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_steps ADD COLUMN cached_tokens INTEGER NOT NULL DEFAULT 0;
