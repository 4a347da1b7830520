#include "validation/fit/command_line.hpp"

#include <fmt/format.h>

#include <fstream>

#include "sim/units/error.hpp"

namespace trainyard::fit {

int run_fit(int count, char** words, const std::string& usage,
            const std::function<void(const std::string& folder, const std::string& file)>& run) {
  std::string folder, file;
  for (int i = 1; i < count; ++i) {
    if (std::string(words[i]) == "--write" && i + 1 < count)
      file = words[++i];
    else
      folder = words[i];
  }
  if (folder.empty()) {
    fmt::print(stderr, "{}\n", usage);
    return 2;
  }
  try {
    run(folder, file);
  } catch (const UserError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}

void rewrite_file(const std::string& file, const std::function<std::string(std::istream&)>& rewritten) {
  std::ifstream in(file);
  if (!in) throw UserError(file + ": cannot be read");
  const std::string text = rewritten(in);
  in.close();
  if (!(std::ofstream(file) << text)) throw UserError(file + ": cannot be written");
}

}  // namespace trainyard::fit
