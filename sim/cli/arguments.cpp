#include "sim/cli/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>

#include "sim/cli/commands.hpp"
#include "sim/cli/completion.hpp"
#include "sim/cli/import_verb.hpp"
#include "sim/config/schema.hpp"

namespace trainyard {
namespace {

constexpr int kMostJobs = 4096;
constexpr int kMostSeeds = 1000;

struct VerbInfo {
  Verb verb;
  const char* name;
  const char* summary;
  const char* examples;
};

constexpr std::array kVerbs{
    VerbInfo{Verb::run, "run", "simulate the strategies of scenarios, in file order",
             "  trainyard run mixed.yaml\n  trainyard run mixed.yaml --trace step.json   open it in ui.perfetto.dev\n"
             "  trainyard run *.yaml --format csv --out results.csv"},
    VerbInfo{Verb::compare, "compare", "the same, ranked by the objective",
             "  trainyard compare mixed.yaml --report mixed.html   a page to open in a browser\n  trainyard compare mixed.yaml --objective cost --strategies "
             "megatron,autohet\n"
             "  trainyard compare mixed.yaml --why --sensitivity   why not another plan; which resource limits\n"
             "  trainyard compare mixed.yaml --format json | jq '.results[0].tokens_per_s'"},
    VerbInfo{Verb::explain, "explain", "what scenarios resolve to: devices, links, prices, layers, FLOPs, switches",
             "  trainyard explain mixed.yaml\n  trainyard explain mixed.yaml --topology --dot mixed.dot"},
    VerbInfo{Verb::list, "list", "what the catalogues hold",
             "  trainyard list gpus\n  trainyard list gpus A100-SXM4-80GB"},
    VerbInfo{Verb::schema, "schema", "the JSON Schema of scenario files, for editors",
             "  trainyard schema --out scenario.schema.json"},
    VerbInfo{Verb::init, "init", "print a commented scenario to start from",
             "  trainyard init > first.yaml && trainyard compare first.yaml\n"
             "  trainyard init --nodes 2xaws.p4d.24xlarge --nodes 4xV100-SXM2-16GB --model llama-2-13b --global-batch 480\n"
             "  trainyard init --nodes 16xH100-SXM5-80GB --nic '400 Gbps' --model llama-3-70b --strategies megatron,galvatron"},
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
             "  trainyard calibrate mine.yaml --collectives all_reduce.log --kernels gemm.csv --steps steps.csv --out calibrated.yaml\n"
             "  trainyard compare calibrated.yaml"},
    VerbInfo{Verb::import, "import", "make scenario YAML of other programs' files",
             "  trainyard import spot p3-trace.csv --fit > market.yaml\n  trainyard import nccl-topology topo.xml\n  nvidia-smi topo -m > topo.txt && trainyard import "
             "nvidia-smi-topo topo.txt --out node.yaml\n"
             "  trainyard import megatron-args train.sh --gpu H100-SXM5-80GB > train.yaml && trainyard run train.yaml"},
    VerbInfo{Verb::export_plan, "export", "launch arguments of a Plan for Megatron-LM, torchtitan or DeepSpeed",
             "  trainyard export train.yaml --for megatron --ranks ranks.txt\n"
             "  trainyard run mixed.yaml --strategies megatron --format json > result.json\n"
             "  trainyard export result.json --scenario mixed.yaml --for megatron"}};

const std::vector<std::string> kCatalogues{"strategies", "gpus",      "instances", "models",
                                           "fabrics",    "schedules", "software",  "failures",  "recoveries"};

const std::map<std::string, Format> kFormats{{"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}};
const std::map<std::string, Colour> kColours{
    {"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}};

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

/// Options as text until the parse has gone well.
struct RawOptions {
  std::string format = "table", colour = "auto", detail = "merged", shard = "1/1";
  bool no_symmetry = false;
};

void add_output_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--out", arguments.out, "write to FILE, whole or not at all")->type_name("FILE");
}

void add_report_option(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--report", arguments.report, "also write a page with tables and charts to FILE")->type_name("FILE.html");
}

void add_format(CLI::App& verb, RawOptions& raw, const char* help = "table, json or csv") {
  verb.add_option("--format", raw.format, help)->check(CLI::IsMember({"table", "json", "csv"}))->type_name("FORMAT");
}

void add_plugin_option(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--plugin", arguments.plugins, "a shared library with strategies; may be given several times")
      ->type_name("FILE.so")
      ->expected(1)
      ->take_all();
}

void add_selection(CLI::App& verb, Arguments& arguments) {
  add_plugin_option(verb, arguments);
  verb.add_option("--strategies", arguments.strategies, "only these, separated by commas; all: every one there is")
      ->delimiter(',')
      ->type_name("NAMES")
      ->expected(1)
      ->take_all();
}

void add_detail(CLI::App& verb, RawOptions& raw) {
  verb.add_option("--detail", raw.detail, "merged, or full: every operator is a task of its own")
      ->check(CLI::IsMember({"merged", "full"}))
      ->type_name("DETAIL");
  verb.add_flag("--no-symmetry", raw.no_symmetry, "simulate every device, also those that do the same");
}

void add_simulation_options(CLI::App& verb, Arguments& arguments, RawOptions& raw) {
  verb.add_option("SCENARIO", arguments.scenarios, "scenario files")->required()->type_name("");
  add_selection(verb, arguments);
  add_format(verb, raw);
  add_output_options(verb, arguments);
  verb.add_option("--trace", arguments.trace, "write the simulated steps for Perfetto to FILE")->type_name("FILE");
  add_report_option(verb, arguments);
  verb.add_option("--jobs", arguments.jobs, "simulations at a time (default: the cores)")
      ->check(CLI::Range(1, kMostJobs))
      ->type_name("N");
  verb.add_option("--color", raw.colour, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  verb.add_option("--against", arguments.against, "of a replayed trace: compare it with this recorded timeline, operation by operation")->type_name("TRACE");
  add_detail(verb, raw);
  verb.add_option("--seeds", arguments.seeds, "over a horizon: mean and interval over so many seeds, from the scenario's on")
      ->check(CLI::Range(1, kMostSeeds))
      ->type_name("N");
  verb.add_flag("--timings", arguments.timings, "also print wall times");
  verb.add_flag("--quiet", arguments.quiet, "no progress bar");
}

void add_job_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--jobs", arguments.jobs, "simulations at a time (default: the cores)")
      ->check(CLI::Range(1, kMostJobs))
      ->type_name("N");
  verb.add_flag("--quiet", arguments.quiet, "no progress bar");
  add_output_options(verb, arguments);
}

void add_validate_options(CLI::App& verb, Arguments& arguments, RawOptions& raw) {
  verb.add_option("--data", arguments.data,
                  "folder of published tables (CSV, known by their headers) or of our own form")
      ->type_name("DIR");
  verb.add_option("--source", arguments.source, "only this source")->type_name("NAME");
  verb.add_option("--gpu", arguments.gpu, "only rows whose GPU contains this")->type_name("TEXT");
  verb.add_option("--worst", arguments.worst, "also list the N largest errors of the step time")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N");
  verb.add_flag("--claims", arguments.claims, "papers' claims beside the same ratio simulated (of the folder --data, where given)");
  verb.add_flag("--ablation", arguments.ablation, "errors with each part of the model switched off; large sources thinned to some 120 rows");
  verb.add_option("--write-bands", arguments.write_bands, "also write the error bands of results to FILE: validation/error_bands.yaml")
      ->type_name("FILE");
  verb.add_option("--check", arguments.budget, "limits on the errors (YAML): status 1 past them")->type_name("FILE");
  add_format(verb, raw);
  CLI::Option* convert =
      verb.add_option("--convert", arguments.convert, "write the tables of DIR in our own form, predict nothing");
  CLI::Option* into = verb.add_option("--into", arguments.into, "where --convert writes")->type_name("DIR");
  convert->type_name("DIR")->needs(into);
  into->needs(convert);
  add_report_option(verb, arguments);
  add_job_options(verb, arguments);
}

void add_check_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("BASELINE", arguments.baselines, "baseline files; with --update scenario files")
      ->required()
      ->type_name("");
  verb.add_option("--tolerance", arguments.tolerances,
                  "allowed drift of figures, a share of what is kept (default: 0.005); FIGURE=SHARE: of this one; several times")
      ->type_name("SHARE")
      ->expected(1)
      ->take_all();
  verb.add_flag("--figures-only", arguments.figures_only, "compare figures even if another version or other catalogues made them");
  CLI::Option* update = verb.add_flag("--update", arguments.update, "write baselines of scenarios instead");
  CLI::Option* into = verb.add_option("--into", arguments.into, "where --update writes")->type_name("DIR");
  update->needs(into);
  into->needs(update);
  verb.add_option("--junit", arguments.junit, "write the outcome as JUnit XML to FILE")->type_name("FILE");
  add_job_options(verb, arguments);
}

void add_collective_options(CLI::App& verb, Arguments& arguments, RawOptions& raw) {
  verb.add_option("SCENARIO", arguments.scenarios, "scenario file; only its cluster counts")
      ->required()
      ->expected(1)
      ->type_name("");
  verb.add_option("--op", arguments.operation,
                  "all_reduce, reduce_scatter, all_gather, all_to_all, broadcast or send_recv")
      ->type_name("OPERATION");
  verb.add_option("--gpus", arguments.gpus, "how many of the cluster's first GPUs (default: all)")
      ->check(CLI::Range(2, 10'000'000))
      ->type_name("N");
  verb.add_option("--bytes", arguments.bytes, "a size, or FIRST..LAST, doubling")->required()->type_name("SIZE");
  verb.add_option("--algorithm", arguments.algorithm,
                  "of an all-reduce: ring, tree, hierarchical or in_network (default: the fastest that the links have)")
      ->type_name("NAME");
  add_format(verb, raw);
  add_output_options(verb, arguments);
}

void add_calibrate_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("SCENARIO", arguments.scenarios, "the cluster, and the workload of the steps")->required()->expected(1)->type_name("");
  verb.add_option("--collectives", arguments.collectives, "log of nccl-tests on GPUs of the cluster; one for each class of links")
      ->type_name("LOG")
      ->expected(1)
      ->take_all();
  verb.add_option("--kernels", arguments.kernels, "times of products: aiconfigurator's or Vidur's columns")->type_name("CSV");
  verb.add_option("--gpu", arguments.gpu, "whose kernels, where the cluster has several kinds")->type_name("NAME");
  verb.add_option("--steps", arguments.steps, "columns plan (YAML) and step_time_s: steps of the scenario's workload")->type_name("CSV");
  add_job_options(verb, arguments);
}

constexpr const char* kSavedFormats = "table, json (one object a line) or csv";

void add_sweep_options(CLI::App& verb, Arguments& arguments, RawOptions& raw) {
  verb.add_option("SCENARIO", arguments.scenarios, "scenario file")->required()->expected(1)->type_name("");
  verb.add_option("--set", arguments.set, "KEY=V1,V2.. or KEY=LO..HI..STEP; several make a grid")
      ->type_name("KEY=VALUES")
      ->expected(1)
      ->take_all();
  verb.add_option("--store", arguments.store, "SQLite file that keeps what is done (default: SCENARIO.sweep)")
      ->type_name("FILE");
  verb.add_option("--shard", raw.shard, "only part I of N, in a store of its own: SCENARIO-I-of-N.sweep")
      ->type_name("I/N");
  add_selection(verb, arguments);
  add_format(verb, raw, kSavedFormats);
  add_report_option(verb, arguments);
  add_detail(verb, raw);
  add_job_options(verb, arguments);
}

void add_merge_options(CLI::App& verb, Arguments& arguments, RawOptions& raw) {
  verb.add_option("STORE", arguments.stores, "stores that sweep wrote")->required()->type_name("");
  verb.add_option("--store", arguments.store, "also write all of it to one store")->type_name("FILE");
  add_format(verb, raw, kSavedFormats);
  add_report_option(verb, arguments);
  add_output_options(verb, arguments);
}

/// Of `import`, for what launch arguments do not say.
void add_launch_options(CLI::App& verb, LaunchImportOptions& options) {
  CLI::Option* gpu = verb.add_option("--gpu", options.gpu, "launch arguments: the GPU they run on")->type_name("NAME");
  CLI::Option* instance =
      verb.add_option("--instance", options.instance, "launch arguments: or the instance")->type_name("NAME");
  CLI::Option* cluster =
      verb.add_option("--cluster", options.cluster, "launch arguments: or the cluster of this scenario")
          ->type_name("FILE");
  gpu->excludes(instance)->excludes(cluster);
  instance->excludes(cluster);
  verb.add_option("--nic", options.nic, "launch arguments: bandwidth of the NIC of each GPU, with --gpu")
      ->type_name("RATE")
      ->excludes(instance)
      ->excludes(cluster);
  verb.add_option("--nodes", options.nodes, "launch arguments: nodes, if the launcher does not say")
      ->check(CLI::Range(1, 10'000'000))
      ->type_name("N");
  verb.add_option("--gpus-per-node", options.gpus_per_node, "launch arguments: GPUs a node, likewise")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  verb.add_option("--vocabulary", options.vocabulary, "launch arguments: tokens, where a tokenizer's file says them")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N");
  verb.add_option("--ranks", options.ranks, "launch arguments: which device each rank has, as `export` writes it")
      ->type_name("FILE");
}

/// Of `import spot`.
void add_spot_options(CLI::App& verb, SpotImport& options) {
  verb.add_flag("--fit", options.fit, "spot: a Markov chain fitted to the record, instead of the record");
  verb.add_option("--format", options.format, "spot: how the file is written (default: told from the file)")
      ->check(CLI::IsMember(availability_format_names()))
      ->type_name("FORMAT");
  verb.add_option("--column", options.column, "spot: pool of a table with several")->type_name("NAME");
  verb.add_option("--unit", options.unit, "spot: s, ms or h, of pairs that do not say it")
      ->check(CLI::IsMember({"s", "ms", "h"}))
      ->type_name("UNIT");
  verb.add_flag("--sort", options.sort, "spot: put a record that is out of order into order");
  verb.add_flag("--inverted", options.inverted, "spot: SkyPilot's 1 means taken");
}

void add_export_options(CLI::App& verb, Arguments& arguments) {
  LaunchExportOptions& options = arguments.export_options;
  verb.add_option("PLAN", arguments.export_file, "a scenario with a fixed Plan, a Plan, or the JSON result of run")
      ->required()
      ->type_name("");
  verb.add_option("--for", options.framework, fmt::format("{}", fmt::join(launch_frameworks(), ", ")))
      ->required()
      ->check(CLI::IsMember(launch_frameworks()))
      ->type_name("FRAMEWORK");
  verb.add_option("--scenario", options.scenario, "the model and the cluster of a PLAN that is no scenario")
      ->type_name("FILE");
  verb.add_option("--strategy", options.strategy, "whose Plan, where a result holds several")->type_name("NAME");
  verb.add_option("--ranks", arguments.ranks, "write which device each rank has to FILE")->type_name("FILE");
  add_output_options(verb, arguments);
}

void add_starter_options(CLI::App& verb, Arguments& arguments) {
  StarterOptions& options = arguments.starter;
  verb.add_option("--nodes", options.nodes, "COUNTxNAME: so many nodes of an instance, or with 8 of a GPU; several times")
      ->type_name("COUNTxNAME")
      ->expected(1)
      ->take_all();
  verb.add_option("--nic", options.nic, "bandwidth of the NIC of each GPU, for nodes of a GPU (default: 100 Gbps)")->type_name("RATE");
  verb.add_option("--price", options.price, "of a node, for nodes of a GPU, such as '24 USD/h'")->type_name("PRICE");
  verb.add_option("--market", options.market, "on_demand or spot: which price instances have (default: on_demand)")
      ->check(CLI::IsMember({"on_demand", "spot"}))
      ->type_name("MARKET");
  verb.add_option("--model", options.model, "a model of the catalogue (default: llama-2-13b)")->type_name("MODEL");
  verb.add_option("--sequence-length", options.sequence_length, "tokens of a sequence (default: 4096)")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N");
  verb.add_option("--global-batch", options.global_batch, "sequences a step (default: 128)")
      ->check(CLI::Range(1, 100'000'000))
      ->type_name("N");
  verb.add_option("--precision", options.precision, "fp16, bf16, .. (default: bf16 where all GPUs have it, else fp16)")->type_name("TYPE");
  verb.add_option("--objective", options.objective, "throughput or cost (default: throughput)")
      ->check(CLI::IsMember({"throughput", "cost"}))
      ->type_name("OBJECTIVE");
  verb.add_option("--strategies", options.strategies, "separated by commas (default: megatron)")
      ->delimiter(',')
      ->type_name("NAMES")
      ->expected(1)
      ->take_all();
}

void add_options(CLI::App& verb, const VerbInfo& info, Arguments& arguments, RawOptions& raw) {
  switch (info.verb) {
    case Verb::compare:
      verb.add_option("--objective", arguments.objective, "throughput, cost or goodput, instead of the scenario's")
          ->check(CLI::IsMember({"throughput", "cost", "goodput"}))
          ->type_name("OBJECTIVE");
      verb.add_flag("--why", arguments.why, "also list the candidates that planners rejected, each with its reason");
      verb.add_flag("--sensitivity", arguments.sensitivity,
                    "also what 10 % more of each resource would buy: FLOP/s, memory, links, price");
      [[fallthrough]];
    case Verb::run:
      return add_simulation_options(verb, arguments, raw);
    case Verb::explain:
      verb.add_option("SCENARIO", arguments.scenarios, "scenario files")->required()->type_name("");
      add_plugin_option(verb, arguments);
      verb.add_flag("--topology", arguments.topology, "only the network: links, tiers, oversubscription, bisection");
      verb.add_option("--dot", arguments.dot, "write the network of the first variant for Graphviz to FILE")
          ->type_name("FILE");
      return add_output_options(verb, arguments);
    case Verb::export_plan:
      return add_export_options(verb, arguments);
    case Verb::import:
      verb.add_option("KIND", arguments.import_kind, fmt::format("{}", fmt::join(import_kinds(), ", ")))
          ->required()
          ->type_name("");
      verb.add_option("FILE", arguments.import_file, "what to read")->required()->type_name("");
      add_launch_options(verb, arguments.import_options);
      add_spot_options(verb, arguments.spot_options);
      return add_output_options(verb, arguments);
    case Verb::list:
      verb.add_option("WHAT", arguments.list_what, fmt::format("{}", fmt::join(kCatalogues, ", ")))
          ->required()
          ->type_name("");
      verb.add_option("NAME", arguments.list_name, "everything about this one")->type_name("");
      add_plugin_option(verb, arguments);
      return add_output_options(verb, arguments);
    case Verb::validate:
      return add_validate_options(verb, arguments, raw);
    case Verb::check:
      return add_check_options(verb, arguments);
    case Verb::collective:
      return add_collective_options(verb, arguments, raw);
    case Verb::calibrate:
      return add_calibrate_options(verb, arguments);
    case Verb::sweep:
      return add_sweep_options(verb, arguments, raw);
    case Verb::merge:
      return add_merge_options(verb, arguments, raw);
    case Verb::init:
      add_starter_options(verb, arguments);
      return add_output_options(verb, arguments);
    case Verb::completion:
      verb.add_option("SHELL", arguments.shell, "whose script")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}))->type_name("");
      return add_output_options(verb, arguments);
    case Verb::schema:
      return add_output_options(verb, arguments);
  }
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const VerbInfo& info : kVerbs) names.emplace_back(info.name);
  return names;
}

Stop misuse(const std::string& where, const std::string& what) {
  return {2, fmt::format("{}: {}\nTry: {} --help\n", where, what, where)};
}

std::vector<std::string> option_names(const CLI::App& verb) {
  std::vector<std::string> names{"--help"};
  for (const CLI::Option* option : verb.get_options([](const CLI::Option* o) { return !o->get_lnames().empty(); }))
    names.push_back("--" + option->get_lnames().front());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// An option that is not there, found before CLI11 complains about something that follows from it.
std::optional<Stop> unknown_option(const CLI::App& verb, const std::string& where,
                                   const std::vector<std::string>& words) {
  const std::vector<std::string> known = option_names(verb);
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    const bool is_option = name.size() > 1 && name[0] == '-' && name != "-h";
    if (is_option && std::find(known.begin(), known.end(), name) == known.end())
      return misuse(where, unknown_name("option", name, known));
  }
  return std::nullopt;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::optional<Stop> wrong_catalogue(const Arguments& arguments) {
  if (arguments.verb != Verb::list) return std::nullopt;
  if (std::find(kCatalogues.begin(), kCatalogues.end(), arguments.list_what) != kCatalogues.end()) return std::nullopt;
  return misuse("trainyard list", unknown_name("catalogue", arguments.list_what, kCatalogues));
}

/// `I/N` with 1 <= I <= N.
std::optional<Stop> wrong_shard(const std::string& text, const std::string& where, Arguments& arguments) {
  char rest = 0;
  const bool read = std::sscanf(text.c_str(), "%d/%d%c", &arguments.shard, &arguments.shards, &rest) == 2;
  if (read && arguments.shard >= 1 && arguments.shard <= arguments.shards) return std::nullopt;
  return misuse(where, fmt::format("--shard is I/N with I from 1 to N, such as 3/8, not \"{}\"", text));
}

std::variant<Arguments, Stop> parse_verb(const VerbInfo& info, std::vector<std::string> words) {
  const std::string where = std::string("trainyard ") + info.name;
  Arguments arguments;
  arguments.verb = info.verb;
  arguments.jobs = cores();
  RawOptions raw;
  CLI::App app(info.summary, where);
  app.footer(std::string("Examples:\n") + info.examples);
  add_options(app, info, arguments, raw);
  if (const auto stop = unknown_option(app, where, words)) return *stop;
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    return Stop{0, app.help()};
  } catch (const CLI::ParseError& error) {
    return misuse(where, one_line(error.what()));
  }
  if (const auto stop = wrong_catalogue(arguments)) return *stop;
  if (const auto stop = wrong_shard(raw.shard, where, arguments)) return *stop;
  arguments.format = kFormats.at(raw.format);
  arguments.colour = kColours.at(raw.colour);
  arguments.symmetry = !raw.no_symmetry;
  arguments.full_detail = raw.detail == "full";
  return arguments;
}

std::string overview() {
  std::string text =
      "trainyard: which way of training a model is fastest, and which is cheapest, on given GPUs, networks and "
      "prices\n\n"
      "Usage: trainyard VERB ...\n\n";
  for (const VerbInfo& info : kVerbs) text += fmt::format("  {:<10} {}\n", info.name, info.summary);
  return text +
         "\n  --help, after a verb too; --version\n\nA start:\n  trainyard init > first.yaml\n  trainyard explain "
         "first.yaml\n"
         "  trainyard compare first.yaml\n\n"
         "Exit status: 0 done; 1 a check or budget failed; 2 wrong input or usage; 3 no strategy found a plan that "
         "fits; 4 a case ended in an "
         "error;\n"
         "70 a bug in Trainyard; 74 an output could not be written; 130 interrupted.\n";
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

/// CLI11 shows a choice as `FORMAT:{table,json,csv}`; other types say where their values come from.
void add_values(const CLI::Option& option, const VerbInfo& info, OptionWords& words) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.rfind('}');
  const std::string plain = type.substr(0, type.find(':'));
  words.kind = ValueKind::words;
  if (open != std::string::npos && close != std::string::npos)
    words.words = split(type.substr(open + 1, close - open - 1));
  else if (words.name == "WHAT")
    words.words = kCatalogues;
  else if (words.name == "KIND")
    words.words = import_kinds();
  else if (plain == "NAMES")
    words.words = catalogue_names("strategies");
  else if (plain == "MODEL")
    words.words = catalogue_names("models");
  else if (words.name == "--gpu" && info.verb == Verb::import)
    words.words = catalogue_names("gpus");
  else if (words.name == "--instance")
    words.words = catalogue_names("instances");
  else
    words.kind = plain.starts_with("FILE") || plain == "DIR" || (plain.empty() && words.name != "NAME") ? ValueKind::file : ValueKind::free;
}

void add_words(const CLI::Option& option, const VerbInfo& info, VerbWords& verb) {
  const bool positional = option.get_positional();
  if (!positional && (option.get_lnames().empty() || option.get_lnames().front() == "help")) return;
  OptionWords words{positional ? option.get_name(true) : "--" + option.get_lnames().front(), option.get_description(), ValueKind::none, {}};
  if (option.get_items_expected_max() > 0) add_values(option, info, words);
  (positional ? verb.positionals : verb.options).push_back(std::move(words));
}

Stop no_such_verb(const std::string& word) {
  if (word.starts_with("-")) return misuse("trainyard", unknown_name("option", word, {"--help", "--version"}));
  return misuse("trainyard", unknown_name("verb", word, verb_names()));
}

}  // namespace

std::vector<VerbWords> verb_words() {
  std::vector<VerbWords> verbs;
  for (const VerbInfo& info : kVerbs) {
    Arguments arguments;
    RawOptions raw;
    CLI::App app(info.summary, info.name);
    add_options(app, info, arguments, raw);
    verbs.push_back({info.name, info.summary, {}, {}});
    for (const CLI::Option* option : app.get_options()) add_words(*option, info, verbs.back());
  }
  return verbs;
}

std::variant<Arguments, Stop> parse_arguments(const std::vector<std::string>& words, const std::string& version) {
  if (words.empty()) return Stop{2, overview()};
  const std::string& first = words.front();
  if (first == "--help" || first == "-h" || first == "help") return Stop{0, overview()};
  if (first == "--version") return Stop{0, "trainyard " + version + "\n"};
  const auto found =
      std::find_if(kVerbs.begin(), kVerbs.end(), [&](const VerbInfo& info) { return first == info.name; });
  if (found == kVerbs.end()) return no_such_verb(first);
  return parse_verb(*found, {words.begin() + 1, words.end()});
}

}  // namespace trainyard
