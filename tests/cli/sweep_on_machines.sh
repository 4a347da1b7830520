#!/usr/bin/env bash
# The same sweep alone, as a Slurm array of 4, and by mpirun -n 2, each merged: the same bytes. Needs Debian's slurm-wlm, munge and
# openmpi-bin; without a running Slurm it starts one for this machine alone (as root). Usage: sweep_on_machines.sh TRAINYARD
set -euo pipefail
trainyard=$(realpath "$1")
work=$(mktemp -d)
here=()                                  # what this script started
finish() {
  for pid in "${here[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
cd "$work"

cat >grid.yaml <<'END'
cluster: {nodes: [{name: a, gpu: A100-SXM4-80GB, gpus_per_node: 8, count: 2, nics: 8, nic: 200 Gbps, price: 20 USD/h}]}
workload: {model: gpt2, sequence_length: 1024, global_batch: 64, precision: bf16, optimizer: adam, software: megatron-core-2024}
strategies: [{fixed: {data: 16, micro_batch: 1}}]
END
sweep=("$trainyard" sweep grid.yaml --set 'workload.global_batch=32..1600..32' --set 'cluster.nodes.a.nic=40..400..40 Gbps' --quiet)
"${sweep[@]}" --format csv --out alone.csv

start_slurm() {
  scontrol ping 2>/dev/null | grep -q 'is UP' && return
  local host memory
  host=$(hostname -s) memory=$(awk '/MemTotal/ {print int($2 / 1024 / 2)}' /proc/meminfo)
  mkdir -p /run/munge state spool && chown munge: /run/munge && chmod 755 "$work" state spool
  [ -S /run/munge/munge.socket.2 ] || { runuser -u munge -- munged --force; here+=("$(cat /run/munge/munged.pid)"); }
  cat >slurm.conf <<END
ClusterName=here
SlurmctldHost=$host
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ReturnToService=2
SelectType=select/cons_tres
NodeName=$host CPUs=$(nproc) RealMemory=$memory State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  export SLURM_CONF=$work/slurm.conf
  slurmctld -D >ctld.out 2>&1 & here+=($!)
  slurmd -D >slurmd.out 2>&1 & here+=($!)
  for _ in $(seq 60); do sinfo -h -o %T 2>/dev/null | grep -qE 'idle|mix|alloc' && return; sleep 1; done
  cat ctld.out slurmd.out slurmctld.log slurmd.log >&2
  echo "slurm does not start" >&2
  exit 1
}

start_slurm
sbatch --wait --quiet --array=1-4 --output=slurm-%a.out --wrap "exec $(printf '%q ' "${sweep[@]}") --jobs 1 --shard \$SLURM_ARRAY_TASK_ID/4 --out slurm-\$SLURM_ARRAY_TASK_ID.txt"
"$trainyard" merge grid-{1,2,3,4}-of-4.sweep --format csv --out slurm.csv
cmp alone.csv slurm.csv

mpirun --allow-run-as-root --oversubscribe -n 2 sh -c "exec $(printf '%q ' "${sweep[@]}") --jobs 1 --shard \$((OMPI_COMM_WORLD_RANK + 1))/\$OMPI_COMM_WORLD_SIZE --out mpi-\$OMPI_COMM_WORLD_RANK.txt"
"$trainyard" merge grid-{1,2}-of-2.sweep --format csv --out mpi.csv
cmp alone.csv mpi.csv
echo "$(($(wc -l <alone.csv) - 1)) points: alone, by Slurm and by MPI the same bytes"
