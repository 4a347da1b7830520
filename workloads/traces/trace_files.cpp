#include "workloads/traces/trace_files.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sim/units/error.hpp"

namespace trainyard {
namespace {

namespace fs = std::filesystem;
namespace io = google::protobuf::io;

constexpr std::size_t kMostText = std::size_t(4) << 30U;
constexpr std::size_t kHead = 4096;
constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8, before the text

/// At most `most` bytes; UserError beyond unless that is all that is wanted.
std::string read_bytes(const std::string& path, std::size_t most, bool all) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) throw UserError(path + ": no such file");
  io::IstreamInputStream raw(&file);
  const bool packed = path.ends_with(".gz");
  std::unique_ptr<io::GzipInputStream> unpacked =
      packed ? std::make_unique<io::GzipInputStream>(&raw, io::GzipInputStream::GZIP) : nullptr;
  io::ZeroCopyInputStream& in = packed ? static_cast<io::ZeroCopyInputStream&>(*unpacked) : raw;
  std::string text;
  const void* data = nullptr;
  int size = 0;
  while (text.size() < most && in.Next(&data, &size)) text.append(static_cast<const char*>(data), std::size_t(size));
  if (all && text.size() >= most) throw UserError(fmt::format("{}: larger than {} GB", path, most >> 30U));
  if (packed && all && unpacked->ZlibErrorCode() < 0)
    throw UserError(path + ": damaged or cut off: not a whole gzip file");
  return text.substr(text.starts_with(kMark) ? kMark.size() : 0, most);
}

bool is_text(const std::string& head) {
  return std::ranges::all_of(
      head, [](char c) { return static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\r' || c == '\t'; });
}

bool is_layer_count(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  const std::size_t last = line.find_last_not_of(" \t\r");
  return first != std::string_view::npos && std::ranges::all_of(line.substr(first, last - first + 1), [](char c) {
           return std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

std::string format_of_json(const std::string& head) {
  if (head.find("\"workload_graph\"") != std::string::npos) return "chakra";
  for (const char* key :
       {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\"", "\"displayTimeUnit\""})
    if (head.find(key) != std::string::npos) return "kineto";
  return head.find("\"nodes\"") != std::string::npos || head.find("\"schema\"") != std::string::npos ? "pytorch" : "";
}

/// What a file is that is no trace of a step: "" or a remark.
std::string format_besides(const std::string& path) {
  const std::string head = read_bytes(path, kHead, false);
  const auto has = [&](std::string_view word) { return head.find(word) != std::string::npos; };
  if (head.size() > 262 && head.substr(257, 5) == "ustar") return "; it is a tar archive: unpack it";
  const bool philly = has("\"jobid\"") && has("\"attempts\"");
  const bool table = (has("creation_time") && has("deletion_time")) || has("job_id,num_gpu") || has("job_name,") ||
                     (has("job_type") && has("gpu_request"));
  if (philly || table) return "; it is a table of a cluster's jobs, which says when they came, not what a step does";
  return "";
}

}  // namespace

std::string trace_text(const std::string& path) { return read_bytes(path, kMostText, true); }

std::string detected_format(const std::string& path) {
  const std::string head = read_bytes(path, kHead, false);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  if (head[first] == '{' && is_text(head)) return format_of_json(head);
  if (!is_text(head)) return path.find(".et") != std::string::npos ? "chakra" : "";
  if (head.find("comm_type,comm_group") != std::string::npos) return "aicb";
  const std::size_t line = head.find('\n');
  if (line != std::string::npos &&
      is_layer_count(std::string_view(head).substr(line + 1, head.find('\n', line + 1) - line - 1)))
    return "astra";
  return path.ends_with(".et") ? "chakra" : "";
}

std::vector<std::string> trace_files(const std::string& path, std::string& format) {
  std::vector<std::string> all;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file()) all.push_back(entry.path().string());
  } else {
    all.push_back(path);
  }
  std::ranges::sort(all);
  std::vector<std::string> fitting;
  std::string other;
  const bool asked = !format.empty();
  for (const std::string& file : all) {
    const std::string found = detected_format(file);
    if (found.empty()) continue;
    if (format.empty()) format = found;
    (found == format ? fitting.emplace_back(file) : other = found);
  }
  if (!asked && !other.empty())
    throw UserError(
        fmt::format("{}: holds files of format {} and of {}; say in `format` which are meant", path, format, other));
  if (!fitting.empty()) return fitting;
  if (!other.empty()) throw UserError(fmt::format("{}: looks like format {}, not {}", path, other, format));
  if (all.size() == 1 && !format.empty() && format_besides(all[0]).empty())
    return all;  // its reader says what is wrong
  throw UserError(fmt::format("{}: no file of a format that is read: chakra, pytorch, kineto, astra, aicb{}", path,
                              all.size() == 1 ? format_besides(all[0]) : ""));
}

std::string timed_format(const std::string& path) {
  if (!fs::is_directory(path)) return "";
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() && detected_format(entry.path().string()) == "kineto") return "kineto";
  return "";
}

int rank_in_name(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::size_t dot = name.find(".json");
  std::string_view stem = std::string_view(name).substr(0, dot == std::string::npos ? name.size() : dot);
  while (!stem.empty() && !digit(stem.back())) stem.remove_suffix(1);
  std::size_t from = stem.size();
  while (from > 0 && digit(stem[from - 1])) --from;
  const std::string_view number = stem.substr(from);
  return number.empty() || number.size() > 6 ? -1 : std::stoi(std::string(number));
}

}  // namespace trainyard
