// The files of a trace and what kind each is.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// The text of a file, unpacked where its name ends in .gz. UserError: no such file, too large, damaged.
[[nodiscard]] std::string trace_text(const std::string& path);

/// What a file looks like by its first bytes: "chakra", "pytorch", "kineto", "astra", "aicb", or "" .
[[nodiscard]] std::string detected_format(const std::string& path);

/// Files at `path` (itself, or those of a folder by name) that look like `format`; "": like that of the first.
/// UserError where there is none, naming the format that was found instead.
[[nodiscard]] std::vector<std::string> trace_files(const std::string& path, std::string& format);

/// The format among a folder's files that has recorded times, where there are several; "": told by the files.
[[nodiscard]] std::string timed_format(const std::string& path);

/// The last number in a file's name; -1: none.
[[nodiscard]] int rank_in_name(const std::string& path);

}  // namespace trainyard
