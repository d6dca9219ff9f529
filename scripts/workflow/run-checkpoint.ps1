# Checkpoints of workflow runs, from PowerShell: create, list, show, restore, export.
#   ./run-checkpoint.ps1 list
#   ./run-checkpoint.ps1 restore CHECKPOINT
# `tideate checkpoint --help` says more.
$ErrorActionPreference = 'Stop'
tideate checkpoint @args
exit $LASTEXITCODE
