// Input files as text.
#pragma once

#include <string>

namespace trainyard {

/// The text of a file, or why it cannot be read: no such file, a folder, the system's reason, more than 32 MB.
struct TextFile {
  std::string text;
  std::string error;  ///< "" = read
};
[[nodiscard]] TextFile read_text_file(const std::string& path);

}  // namespace trainyard
