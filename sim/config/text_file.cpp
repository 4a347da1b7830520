#include "sim/config/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace trainyard {
namespace {

constexpr std::size_t kLargestFile = 32'000'000;  // bytes
constexpr std::size_t kPiece = 64 * 1024;         // bytes

/// The stream's text to its end or just past the largest file, read piece by piece: a special file does not tell its size.
std::string read_pieces(std::istream& stream) {
  std::string text;
  while (stream && text.size() <= kLargestFile) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    stream.read(text.data() + before, kPiece);
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

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
  std::string text = read_pieces(stream);
  if (stream.bad()) return {"", fmt::format("cannot be read: {}", std::strerror(errno))};
  if (text.size() > kLargestFile) return {"", fmt::format("is larger than {} MB", kLargestFile / 1'000'000)};
  return {std::move(text), ""};
}

}  // namespace trainyard
