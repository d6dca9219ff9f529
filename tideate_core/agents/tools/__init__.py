"""Tools of the work loop: what a model may look at, stage and run."""
