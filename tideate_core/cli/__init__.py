"""The `tideate` command: arguments in, results out, a person in between."""
