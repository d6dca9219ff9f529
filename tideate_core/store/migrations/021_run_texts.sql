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
