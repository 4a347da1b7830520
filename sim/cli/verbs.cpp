#include "sim/cli/verbs.hpp"

#include <array>

namespace trainyard {
namespace {

constexpr std::array kVerbs{
    VerbInfo{Verb::run, "run", "simulate the strategies of scenarios, in file order",
             "  trainyard run mixed.yaml\n  trainyard run mixed.yaml --trace step.json   open it in ui.perfetto.dev\n"
             "  trainyard run *.yaml --format csv --out results.csv"},
    VerbInfo{Verb::compare, "compare", "the same, ranked by the objective",
             "  trainyard compare mixed.yaml --report mixed.html   a page to open in a browser\n  trainyard compare "
             "mixed.yaml --objective cost --strategies "
             "megatron,autohet\n"
             "  trainyard compare mixed.yaml --why --sensitivity   why not another plan; which resource limits\n"
             "  trainyard compare mixed.yaml --format json | jq '.results[0].tokens_per_s'"},
    VerbInfo{Verb::explain, "explain", "what scenarios resolve to: devices, links, prices, layers, FLOPs, switches",
             "  trainyard explain mixed.yaml\n  trainyard explain mixed.yaml --topology --dot mixed.dot"},
    VerbInfo{Verb::list, "list", "what the catalogues hold",
             "  trainyard list gpus\n  trainyard list gpus A100-SXM4-80GB"},
    VerbInfo{Verb::schema, "schema", "the JSON Schema of scenario files, for editors",
             "  trainyard schema --out scenario.schema.json"},
    VerbInfo{
        Verb::init, "init", "print a commented scenario to start from",
        "  trainyard init > first.yaml && trainyard compare first.yaml\n"
        "  trainyard init --nodes 2xaws.p4d.24xlarge --nodes 4xV100-SXM2-16GB --model llama-2-13b --global-batch 480\n"
        "  trainyard init --nodes 16xH100-SXM5-80GB --nic '400 Gbps' --model llama-3-70b --strategies "
        "megatron,galvatron"},
    VerbInfo{Verb::completion, "completion", "a script by which a shell completes verbs, options and names",
             "  source <(trainyard completion bash)\n  trainyard completion fish | source\n"
             "  trainyard completion zsh > ~/.zfunc/_trainyard   with ~/.zfunc in $fpath"},
    VerbInfo{Verb::validate, "validate", "predictions beside published measurements",
             "  trainyard validate --worst 20\n  trainyard validate --data tables/ --source vtrain_multi --format csv"},
    VerbInfo{Verb::check, "check", "simulate baselines again; status 1 if a figure has drifted",
             "  trainyard check baselines/*.json --junit check.xml\n"
             "  trainyard check --update mixed.yaml --into baselines"},
    VerbInfo{
        Verb::sweep, "sweep", "a grid of what-ifs over any keys of a scenario; goes on where it was stopped",
        "  trainyard sweep mixed.yaml --set cluster.nodes.a100.count=1..4 --set workload.global_batch=256,512\n"
        "  trainyard sweep mixed.yaml --set 'cluster.nodes.v100.nic=25..100..25 Gbps' --format csv --out grid.csv\n"
        "  trainyard sweep mixed.yaml --set workload.global_batch=64..1024..64 --shard 3/8   one of eight machines"},
    VerbInfo{Verb::merge, "merge", "the stores of a sweep's shards as one result",
             "  trainyard merge mixed-*-of-8.sweep --format csv --out grid.csv"},
    VerbInfo{Verb::collective, "collective", "time collectives on a scenario's cluster, as nccl-tests prints them",
             "  trainyard collective mixed.yaml --op all_reduce --gpus 16 --bytes 1MB..4GB"},
    VerbInfo{Verb::calibrate, "calibrate", "one's own measurements as parameters of a scenario's cluster",
             "  trainyard calibrate mine.yaml --collectives all_reduce.log --kernels gemm.csv --steps steps.csv --out "
             "calibrated.yaml\n"
             "  trainyard compare calibrated.yaml"},
    VerbInfo{Verb::import, "import", "make scenario YAML of other programs' files",
             "  trainyard import spot p3-trace.csv --fit > market.yaml\n  trainyard import nccl-topology topo.xml\n  "
             "nvidia-smi topo -m > topo.txt && trainyard import "
             "nvidia-smi-topo topo.txt --out node.yaml\n"
             "  trainyard import megatron-args train.sh --gpu H100-SXM5-80GB > train.yaml && trainyard run train.yaml"},
    VerbInfo{Verb::export_plan, "export", "launch arguments of a Plan for Megatron-LM, torchtitan or DeepSpeed",
             "  trainyard export train.yaml --for megatron --ranks ranks.txt\n"
             "  trainyard run mixed.yaml --strategies megatron --format json > result.json\n"
             "  trainyard export result.json --scenario mixed.yaml --for megatron"}};

}  // namespace

std::span<const VerbInfo> verbs() { return kVerbs; }

const std::vector<std::string>& catalogues() {
  static const std::vector<std::string> names{"strategies", "gpus",     "instances", "models",    "fabrics",
                                              "schedules",  "software", "failures",  "recoveries"};
  return names;
}

}  // namespace trainyard
