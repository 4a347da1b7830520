#include "sim/cli/verb_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "sim/cli/import_verb.hpp"

namespace trainyard {
namespace {

constexpr int kMostJobs = 4096;
constexpr int kMostSeeds = 1000;

void add_output_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--out", arguments.out, "write to FILE, whole or not at all")->type_name("FILE");
}

void add_report_option(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--report", arguments.report, "also write a page with tables and charts to FILE")
      ->type_name("FILE.html");
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
  verb.add_option("--against", arguments.against,
                  "of a replayed trace: compare it with this recorded timeline, operation by operation")
      ->type_name("TRACE");
  add_detail(verb, raw);
  verb.add_option("--seeds", arguments.seeds,
                  "over a horizon: mean and interval over so many seeds, from the scenario's on")
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
  verb.add_flag("--claims", arguments.claims,
                "papers' claims beside the same ratio simulated (of the folder --data, where given)");
  verb.add_flag("--ablation", arguments.ablation,
                "errors with each part of the model switched off; large sources thinned to some 120 rows");
  verb.add_option("--write-bands", arguments.write_bands,
                  "also write the error bands of results to FILE: validation/error_bands.yaml")
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
                  "allowed drift of figures, a share of what is kept (default: 0.005); FIGURE=SHARE: of this one; "
                  "several times")
      ->type_name("SHARE")
      ->expected(1)
      ->take_all();
  verb.add_flag("--figures-only", arguments.figures_only,
                "compare figures even if another version or other catalogues made them");
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
  verb.add_option("SCENARIO", arguments.scenarios, "the cluster, and the workload of the steps")
      ->required()
      ->expected(1)
      ->type_name("");
  verb.add_option("--collectives", arguments.collectives,
                  "log of nccl-tests on GPUs of the cluster; one for each class of links")
      ->type_name("LOG")
      ->expected(1)
      ->take_all();
  verb.add_option("--kernels", arguments.kernels, "times of products: aiconfigurator's or Vidur's columns")
      ->type_name("CSV");
  verb.add_option("--gpu", arguments.gpu, "whose kernels, where the cluster has several kinds")->type_name("NAME");
  verb.add_option("--steps", arguments.steps, "columns plan (YAML) and step_time_s: steps of the scenario's workload")
      ->type_name("CSV");
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
  verb.add_option("--nodes", options.nodes,
                  "COUNTxNAME: so many nodes of an instance, or with 8 of a GPU; several times")
      ->type_name("COUNTxNAME")
      ->expected(1)
      ->take_all();
  verb.add_option("--nic", options.nic, "bandwidth of the NIC of each GPU, for nodes of a GPU (default: 100 Gbps)")
      ->type_name("RATE");
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
  verb.add_option("--precision", options.precision, "fp16, bf16, .. (default: bf16 where all GPUs have it, else fp16)")
      ->type_name("TYPE");
  verb.add_option("--objective", options.objective, "throughput or cost (default: throughput)")
      ->check(CLI::IsMember({"throughput", "cost"}))
      ->type_name("OBJECTIVE");
  verb.add_option("--strategies", options.strategies, "separated by commas (default: megatron)")
      ->delimiter(',')
      ->type_name("NAMES")
      ->expected(1)
      ->take_all();
}

}  // namespace

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
      verb.add_option("WHAT", arguments.list_what, fmt::format("{}", fmt::join(catalogues(), ", ")))
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
      verb.add_option("SHELL", arguments.shell, "whose script")
          ->required()
          ->check(CLI::IsMember({"bash", "zsh", "fish"}))
          ->type_name("");
      return add_output_options(verb, arguments);
    case Verb::schema:
      return add_output_options(verb, arguments);
  }
}

}  // namespace trainyard
