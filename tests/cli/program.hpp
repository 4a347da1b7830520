// Runs the built program as a user would.
#pragma once

#include <string>

namespace trainyard {

struct Ended {
  int status = 0;  ///< exit status, or 128 + signal
  std::string out, err;
};

/// `arguments` go through a shell; `before` may set variables. The program's input is empty.
[[nodiscard]] Ended trainyard_program(const std::string& arguments, const std::string& before = "");

/// A folder of its own for a test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// Path of a file in it, written when `text` is given.
  [[nodiscard]] std::string file(const std::string& name) const;
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const;
  /// Names of its files, sorted, one a line.
  [[nodiscard]] std::string listing() const;

 private:
  std::string path_;
};

[[nodiscard]] std::string content(const std::string& path);

/// Two small scenarios on 8 GPUs: one that runs with two layouts, one whose model is too large for the devices.
extern const std::string kSmall;
extern const std::string kTooLarge;

}  // namespace trainyard
