// What a file a framework provides: its table, and the rules between its own values and a scenario's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/launch/argument_table.hpp"
#include "sim/scenario/launch/launch_script.hpp"

namespace trainyard::launch {

struct Framework {
  std::string_view name;      ///< "megatron": what `--for` takes; `megatron-args` is the kind to import
  std::string_view title;     ///< "Megatron-LM"
  std::string_view software;  ///< preset whose other switches hold
  const ArgumentTable& (*table)();
  /// Arguments of a file of this framework, with the launcher's. Mistakes go to `diagnostics`.
  void (*read)(const std::string& text, const std::string& file, Reading& into, Diagnostics& diagnostics);
  /// `raw.*` to settings, in place.
  void (*to_settings)(Reading& reading, Diagnostics& diagnostics);
  /// Settings to `raw.*`, in place; what it cannot say in words of the framework is its answer ("" = nothing).
  std::string (*from_settings)(Settings& settings);
  /// The launch as text that its `read` reads again; `arguments` as write_arguments gives them.
  std::string (*write)(const Settings& settings, const std::vector<std::pair<std::string, std::string>>& arguments);
};

[[nodiscard]] const Framework& megatron();
[[nodiscard]] const Framework& torchtitan();
[[nodiscard]] const Framework& deepspeed();

/// `torchrun --nproc-per-node 8 --nnodes 4 PROGRAM \` and an argument a line.
[[nodiscard]] std::string launch_line(const std::string& launcher, const std::string& program,
                                      const std::vector<std::pair<std::string, std::string>>& arguments);
[[nodiscard]] std::string torchrun(const Settings& settings);

}  // namespace trainyard::launch
