// The command line that the fits share.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

namespace trainyard::fit {

/// `DATA_FOLDER [--write FILE]` to `run(folder, file)`, file "" unless given. Returns the exit status: 2 for wrong words, after `usage`,
/// and for a UserError, after its text.
[[nodiscard]] int run_fit(int count, char** words, const std::string& usage,
                          const std::function<void(const std::string& folder, const std::string& file)>& run);

/// Puts `rewritten` of the text of `file` in its place. UserError where it cannot be read or written.
void rewrite_file(const std::string& file, const std::function<std::string(std::istream&)>& rewritten);

}  // namespace trainyard::fit
