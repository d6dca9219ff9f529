"""New runs made from earlier ones: forks, checkpoints, continuations."""
