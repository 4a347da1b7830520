// Reads a launch script as the shell would, as far as that is possible without running it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/scenario/launch/argument_table.hpp"

namespace trainyard::launch {

/// The command that starts the training, cut at its program.
struct LaunchScript {
  std::vector<Word> launcher;                    ///< before the program: torchrun and its options
  std::vector<Word> arguments;                   ///< behind it
  std::map<std::string, std::string> documents;  ///< here-documents by the file they are written to
};

/// Read: quotes, comments, continued lines, variables and lists of the file itself, `${NAME:-default}`, `$((..))`,
/// here-documents. Not read: conditions and loops (what they set is unknown), the output of commands, the script's own
/// arguments. Without a launch line a file of arguments alone. Mistakes go to `diagnostics`.
[[nodiscard]] LaunchScript read_launch_script(const std::string& text, const std::string& name,
                                              Diagnostics& diagnostics);

/// `job.nodes` and `job.gpus_per_node` as torchrun, torch.distributed, deepspeed and srun are told.
void read_launcher(const LaunchScript& script, Reading& into, Diagnostics& diagnostics);

}  // namespace trainyard::launch
