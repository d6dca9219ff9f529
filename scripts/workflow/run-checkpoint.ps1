# Checkpoints of workflow runs, from PowerShell: create, list, show, restore, export.
#   ./run-checkpoint.ps1 list
#   ./run-checkpoint.ps1 restore CHECKPOINT
# `tideate checkpoint --help` says more. The tests read this file and do not run it: PowerShell needs .NET,
# which none of the package registries that they install from brings.
$ErrorActionPreference = 'Stop'
tideate checkpoint @args
exit $LASTEXITCODE
