// Output that arrives whole or not at all.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace trainyard {

/// An output could not be written: exit status 74. `what()` is one line that names the output and the cause.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Writes to a temporary file beside `path`, syncs it and renames it: `path` holds all of `text` or what it held
/// before. A symbolic link keeps standing and its target is replaced; devices and pipes are written to directly. Throws
/// OutputError.
void write_file(const std::string& path, std::string_view text);

/// Writes all of `text` to an open descriptor; `name` stands for it in messages. Throws OutputError.
void write_all(int descriptor, std::string_view text, const std::string& name);

/// A folder and those above it, where they are not there yet. Throws OutputError.
void make_folders(const std::string& path);

}  // namespace trainyard
