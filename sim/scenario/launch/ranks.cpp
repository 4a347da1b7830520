// Which device each rank has.
#include <fmt/format.h>

#include <sstream>

#include "sim/scenario/launch/scenario_settings.hpp"

namespace trainyard::launch {

std::vector<DeviceId> devices_by_rank(const Plan& plan, bool pipeline_before_data) {
  const Part& part = plan.phases.front().parts.front();
  const std::size_t whole = part.stages.front().devices.size();
  std::size_t run = whole;  // ranks of a stage that follow each other
  if (pipeline_before_data)
    for (const Rule& rule : part.stages.front().rules)
      if (rule.settings.layout)
        run = whole / static_cast<std::size_t>(axis_size(*rule.settings.layout, AxisKind::data) *
                                               axis_size(*rule.settings.layout, AxisKind::shard));
  std::vector<DeviceId> devices;
  for (std::size_t begin = 0; begin < whole; begin += run)
    for (const StageId stage : part.pipelines.front().stages)
      for (std::size_t i = begin; i < begin + run; ++i) devices.push_back(part.stages[index(stage)].devices[i]);
  return devices;
}

std::string rank_file(const std::vector<DeviceId>& devices, const Settings& s, const Cluster& cluster) {
  const std::int64_t tensor = s.count("plan.tensor", 1), context = s.count("plan.context", 1),
                     pipeline = s.count("plan.pipeline", 1);
  const std::int64_t data = s.count("plan.data", 1) * s.count("plan.shard", 1);
  const bool pipeline_first = s.has("plan.rank_order");
  std::string text = fmt::format(
      "# Ranks by axis, fastest first: tensor, context, {}.\n# rank\tdevice\ttensor\tcontext\tdata\tpipeline\n",
      pipeline_first ? "pipeline, data" : "data, pipeline");
  for (std::size_t r = 0; r < devices.size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    const std::int64_t outer = rank / tensor / context;
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", rank, cluster.devices[index(devices[r])].name, rank % tensor,
                        rank / tensor % context, pipeline_first ? outer / pipeline : outer % data,
                        pipeline_first ? outer % pipeline : outer / data);
  }
  return text;
}

std::vector<std::string> devices_in_rank_file(const std::string& text, const std::string& file,
                                              Diagnostics& diagnostics) {
  auto source = std::make_shared<SourceFile>(SourceFile{file, {}});
  std::vector<std::string> devices;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    source->lines.push_back(line);
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::size_t rank = 0;
    std::string device;
    if (!(words >> rank >> device) || rank != devices.size())
      diagnostics.add({source, number, 1, ""}, fmt::format("expected rank {} and its device", devices.size()));
    devices.push_back(device);
  }
  return devices;
}

}  // namespace trainyard::launch
