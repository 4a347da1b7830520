#!/usr/bin/env python3
"""One stage a GPU, layers in proportion to its speed: the question on standard input, a Plan on standard output."""
import json
import sys

question = json.load(sys.stdin)
gpus = question["cluster"]["gpus"]
layers = question["workload"]["layers"]
if len(gpus) > len(layers):
    print(json.dumps({"infeasible": "there are more GPUs than layers"}))
    sys.exit()

middle = len(layers) // 2
speeds = []
for gpu in gpus:
    layer = question["profile"][gpu["type"]][middle]
    speeds.append(1 / (layer["forward_s"] + layer["backward_s"]) / gpu["slowdown"])

stages, given, first = [], 0.0, 0
for i, gpu in enumerate(gpus):
    given += speeds[i] / sum(speeds) * len(layers)
    after = len(gpus) - i - 1
    last = len(layers) if after == 0 else min(max(round(given), first + 1), len(layers) - after)
    stages.append({"devices": gpu["name"], "layers": [layer["name"] for layer in layers[first:last]]})
    first = last

batch = question["workload"]["global_batch"]
print(json.dumps({"batch": batch, "micro_batches": int(batch), "recompute": "selective", "stages": stages}))
