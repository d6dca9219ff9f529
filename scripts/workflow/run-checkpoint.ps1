# Checkpoints of workflow runs, from PowerShell: create, list, show, restore, export.
#   ./run-checkpoint.ps1 list
#   ./run-checkpoint.ps1 restore CHECKPOINT
# `tideate checkpoint --help` says more. This file was not run in a PowerShell: the tests parse its text by
# a grammar of the language.
$ErrorActionPreference = 'Stop'
tideate checkpoint @args
exit $LASTEXITCODE
