// Which options each verb has, told to CLI11: the one description that parses, helps and completes.
#pragma once

#include <string>

#include "sim/cli/verbs.hpp"

namespace CLI {
class App;
}

namespace trainyard {

/// Options as text until the parse has gone well.
struct RawOptions {
  std::string format = "table", colour = "auto", detail = "merged", shard = "1/1";
  bool no_symmetry = false;
};

/// The parse writes into `arguments` and `raw`, which must outlive `app`.
void add_options(CLI::App& app, const VerbInfo& info, Arguments& arguments, RawOptions& raw);

}  // namespace trainyard
