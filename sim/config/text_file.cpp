#include "sim/config/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

constexpr std::uintmax_t kLargestFile = 32'000'000;  // bytes

}  // namespace

TextFile read_text_file(const std::string& path) {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  if (status.type() == std::filesystem::file_type::not_found) return {"", "no such file"};
  if (code) return {"", fmt::format("cannot be read: {}", code.message())};
  if (std::filesystem::is_directory(status)) return {"", "is a folder, not a file"};
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return {"", fmt::format("cannot be read: {}", std::strerror(errno))};
  std::string text(kLargestFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return {"", fmt::format("cannot be read: {}", std::strerror(errno))};
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kLargestFile) return {"", fmt::format("is larger than {} MB", kLargestFile / 1'000'000)};
  return {std::move(text), ""};
}

}  // namespace trainyard
