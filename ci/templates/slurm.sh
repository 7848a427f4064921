#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm: judges an execution provider by an array of jobs, one shard each. Fill in PROVIDER, then
#   array=$(sbatch --parsable slurm.sh)
#   sbatch --dependency="afterany:$array" --wrap 'opsconform merge shard-*.jsonl --report json:conformance.json'
# A job that is preempted or runs out of time is told a minute before; it is queued again (scontrol
# requeue, or the same sbatch) and goes on where its journal ends.
#SBATCH --job-name=conformance
#SBATCH --array=1-4
#SBATCH --time=00:30:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@60
: "${PROVIDER:=./libmynpu.so}"
shard=$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN + 1))
# exec: the signal must reach opsconform, not a shell that waits for it.
exec opsconform --provider "$PROVIDER" --tier "${TIER:-full}" --jobs "${SLURM_CPUS_ON_NODE:-2}" \
  --shard "$shard/$SLURM_ARRAY_TASK_COUNT" --resume "shard-$shard.jsonl"
