#include "sim/scenario/starter.hpp"

namespace trainyard {

std::string starter_scenario() {
  return R"(# A scenario: which strategies train which workload on which cluster.
#   trainyard explain FILE    what it resolves to
#   trainyard compare FILE    its strategies, ranked
#   trainyard schema          every key, as a JSON Schema for editors

cluster:
  nodes:
    # A cloud instance of the catalogue (`trainyard list instances`) brings its devices, network and price.
    - {name: a100, instance: aws.p4d.24xlarge, count: 2, market: spot}
    # Or a node written out, with a GPU of the catalogue (`trainyard list gpus`).
    # - {name: v100, gpu: V100-SXM2-32GB, gpus_per_node: 8, count: 4, nics: 1, nic: 100 Gbps, market: on_demand, price: 24.48 USD/h}
  fabric: {kind: star}                 # `trainyard list fabrics`

workload:
  model: llama-2-13b                   # `trainyard list models`
  sequence_length: 4096
  global_batch: 128                    # sequences a step
  precision: bf16
  optimizer: adam
  software: megatron-core-2024         # what is fused and what overlaps: `trainyard list software`

objective: throughput                  # or cost: what `compare` ranks by

strategies:                            # `trainyard list strategies`
  - megatron
  # A Plan of one's own: the product of tensor, pipeline and data is the number of GPUs.
  - {fixed: {tensor: 4, pipeline: 2, data: 2, micro_batch: 1}}

# Alternatives, each compared on its own; an element of a list is given by its name.
variants:
  as_is: {}
  long_sequences: {workload.sequence_length: 8192, workload.global_batch: 64}
)";
}

}  // namespace trainyard
