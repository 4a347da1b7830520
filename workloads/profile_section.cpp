#include "workloads/profile_section.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "workloads/profile_formats.hpp"

namespace trainyard {
namespace {

bool is_graph(const std::string& format) { return format == "pipedream" || format == "dapple"; }

Schema file_schema() {
  return schema::object({schema::required("file", schema::text("relative to the scenario's folder")),
                         schema::required("gpu", schema::text("type of device that was measured, a name of the GPU catalogue")),
                         schema::optional("micro_batch", schema::number(above(0, 1e9), "samples, where the file does not say")),
                         schema::optional("tensor", schema::integer(between(1, 1024), "tensor size, where the file does not say"))},
                        "a file");
}

std::optional<double> number_of(const View& value) { return value ? std::optional(value.number()) : std::nullopt; }

ProfileFile file_of(const View& value, const std::string& directory) {
  ProfileFile file;
  file.path = (std::filesystem::path(directory) / value["file"].text()).string();
  file.gpu = value["gpu"].text();
  file.samples = number_of(value["micro_batch"]);
  if (value["tensor"]) file.tensor = int(value["tensor"].integer());
  file.place = value["file"].place();
  return file;
}

/// What a format measures leaves a question that the scenario must answer.
void ask(const View& profile, const char* key, bool needed, const char* why, Diagnostics& diagnostics) {
  if (needed && !profile[key]) diagnostics.add(profile.place(), fmt::format("`{}` is missing: {}", key, why));
  if (!needed && profile[key]) diagnostics.add(profile[key].place(), fmt::format("format {} needs no `{}`", profile["format"].text(), key));
}

ProfileRules rules_of(const View& profile, const ProfileContext& context, Diagnostics& diagnostics) {
  const std::string format = profile["format"].text();
  ask(profile, "forward_share", format == "metis", "Metis measures both passes together", diagnostics);
  ask(profile, "backward_ratio", format == "galvatron", "Galvatron measures forward passes only (and takes 2)", diagnostics);
  return {number_of(profile["forward_share"]), number_of(profile["backward_ratio"]), context.sequence_length};
}

}  // namespace

Schema profile_section_schema() {
  const Schema foreign = schema::object(
      {schema::required("format", schema::choice({"sailor", "metis", "galvatron", "pipedream", "dapple"}, "who wrote the files")),
       schema::required("files", schema::list(file_schema(), between(1, 10000), "files of one network")),
       schema::optional("forward_share", schema::number(above(0, 1), "metis: share of the forward pass in the time of both")),
       schema::optional("backward_ratio", schema::number(above(0, 100), "galvatron: backward over forward"))},
      "files of another program");
  return schema::one_of({schema::text("a file in Trainyard's own form"), foreign}, "measured times of each layer");
}

bool profile_needs_model(const View& profile) { return profile.is_map() && !is_graph(profile["format"].text()); }

ProfileTable read_profile_section(const View& profile, const ProfileContext& context, Diagnostics& diagnostics) {
  if (profile.is_scalar())
    return read_profile((std::filesystem::path(context.directory) / profile.text()).string(), profile.place(), diagnostics);
  const ProfileRules rules = rules_of(profile, context, diagnostics);
  const std::string format = profile["format"].text();
  ProfileTable table;
  const View files = profile["files"];
  table.name = std::filesystem::path(files.at(0)["file"].text()).stem().string();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ProfileFile file = file_of(files.at(i), context.directory);
    if (format == "sailor") read_sailor_profile(file, table, diagnostics);
    if (format == "metis") read_metis_profile(file, rules, table, diagnostics);
    if (format == "galvatron") read_galvatron_profile(file, rules, table, diagnostics);
    if (is_graph(format)) read_graph_profile(file, table, diagnostics);
  }
  return table;
}

}  // namespace trainyard
