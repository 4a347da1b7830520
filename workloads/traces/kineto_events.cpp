#include "workloads/traces/kineto_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/units/error.hpp"
#include "workloads/traces/json_text.hpp"
#include "workloads/traces/readers.hpp"
#include "workloads/traces/trace_number.hpp"

namespace trainyard {
namespace {

using Json = nlohmann::json;

double number(const Json& object, const char* key, double fallback) {
  const auto found = object.find(key);
  if (found == object.end()) return fallback;
  if (found->is_number()) return found->get<double>();
  if (found->is_string()) {
    if (const auto value = number_of_word(found->get_ref<const std::string&>())) return *value;
  }
  return fallback;
}

/// Of something that is named by a number; what is no such number names nothing.
std::int64_t named(const Json& object, const char* key, std::int64_t fallback) {
  return name_of(number(object, key, double(fallback))).value_or(fallback);
}

std::string text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string lower(std::string word) {
  for (char& c : word) c = char(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

double element_bytes(const std::string& type) {
  static const std::map<std::string, double> sizes{{"float", 4},
                                                   {"half", 2},
                                                   {"bfloat16", 2},
                                                   {"double", 8},
                                                   {"long", 8},
                                                   {"int", 4},
                                                   {"byte", 1},
                                                   {"char", 1},
                                                   {"bool", 1},
                                                   {"c10::half", 2},
                                                   {"c10::bfloat16", 2},
                                                   {"long int", 8},
                                                   {"unsigned char", 1},
                                                   {"signed char", 1},
                                                   {"short", 2},
                                                   {"short int", 2},
                                                   {"float8_e4m3fn", 1},
                                                   {"float8_e5m2", 1},
                                                   {"c10::float8_e4m3fn", 1}};
  const auto found = sizes.find(lower(type));
  return found == sizes.end() ? 0 : found->second;
}

/// Product of sizes; 0 for what is no list of numbers.
double elements(const Json& sizes) {
  if (!sizes.is_array() || sizes.empty()) return 0;
  double count = 1;
  for (const Json& size : sizes) {
    if (!size.is_number()) return 0;
    count *= size.get<double>();
  }
  return count;
}

/// "[0, 1, 2]" as text; empty where it is cut off ("...").
std::vector<int> ranks_in(const std::string& list) {
  std::vector<int> ranks;
  if (list.find("...") != std::string::npos) return ranks;
  for (std::size_t at = 0; at < list.size();) {
    if (std::isdigit(static_cast<unsigned char>(list[at])) == 0) {
      ++at;
      continue;
    }
    const std::size_t end = std::min(list.find_first_not_of("0123456789", at), list.size());
    const std::optional<double> rank = number_of_word(std::string_view(list).substr(at, end - at));
    ranks.push_back(rank ? int_of(*rank).value_or(-1) : -1);  // no rank at all is refused with its group
    at = end;
  }
  return ranks;
}

class EventReader {
 public:
  explicit EventReader(const std::string& path) : path_(path), root_(parse_json(path)) {}

  KinetoEvents read() {
    const auto events = root_.find("traceEvents");
    if (events == root_.end() || !events->is_array())
      throw UserError(fmt::format("{}: no list `traceEvents`{}", path_,
                                  root_.contains("nodes") ? "; this looks like format pytorch" : ""));
    read_head();
    for (std::size_t i = 0; i < events->size(); ++i)
      if ((*events)[i].is_object()) read_event((*events)[i], i);
    if (made_.device_events.empty() && made_.calls.empty())
      throw UserError(path_ + ": no event of a device and no launch; at least one kernel is needed");
    settle();
    return std::move(made_);
  }

 private:
  void read_head() {
    if (const auto info = root_.find("distributedInfo"); info != root_.end() && info->is_object()) {
      made_.rank = count(*info, "rank", -1);
      made_.world_size = count(*info, "world_size", 0);
    }
    if (const auto devices = root_.find("deviceProperties");
        devices != root_.end() && devices->is_array() && !devices->empty())
      made_.device = text(devices->front(), "name");
  }

  int count(const Json& info, const char* key, int fallback) const {
    const double number_there = number(info, key, fallback);
    const std::optional<int> value = int_of(number_there);
    if (!value || *value < fallback)
      throw UserError(
          fmt::format("{}: distributedInfo: {} is {}; a whole number from 0 is allowed", path_, key, number_there));
    return *value;
  }

  void read_event(const Json& event, std::size_t place) {
    if (text(event, "ph") != "X") return;
    const std::string category = lower(text(event, "cat"));
    const bool device = category == "kernel" || category == "gpu_memcpy" || category == "gpu_memset" ||
                        category == "memcpy" || category == "memset" || category == "mtia_ccp_events";
    const bool runtime =
        category == "cuda_runtime" || category == "cuda_driver" || category == "runtime" || category == "mtia_runtime";
    const std::string name = text(event, "name");
    const bool note = name == "record_param_comms" || name.starts_with("nccl:");
    if (!device && !runtime && !note) return;
    const double begin = number(event, "ts", std::numeric_limits<double>::quiet_NaN()),
                 time = number(event, "dur", std::numeric_limits<double>::quiet_NaN());
    if (!std::isfinite(begin) || !std::isfinite(time))
      throw UserError(fmt::format("{}: event {} ({}): `ts` or `dur` is no number", path_, place, name.substr(0, 60)));
    if (time < 0)
      throw UserError(fmt::format("{}: event {} ({}): a duration of {} us; 0 or more is allowed", path_, place,
                                  name.substr(0, 60), time));
    if (begin == 0 && time == 0) return;  // pairs of zeros are no times
    const auto found = event.find("args");
    const Json arguments = found != event.end() && found->is_object() ? *found : Json::object();
    if (note)
      add_note(event, arguments, name, begin, time);
    else if (device)
      add_device(event, arguments, category, name, begin, time);
    else
      add_call(arguments, name, begin, time);
  }

  void add_device(const Json& event, const Json& arguments, const std::string& category, const std::string& name,
                  double begin, double time) {
    DeviceEvent made;
    made.name = name;
    made.stream = named(arguments, "stream", named(event, "tid", 0));
    made.begin = begin;
    made.time = time;
    made.bytes = number(arguments, "bytes", 0);
    made.correlation = named(arguments, "correlation", -1);
    made.external = named(arguments, "External id", named(arguments, "external id", -1));
    made.copies = category.find("mem") != std::string::npos;
    const std::string plain = lower(name);
    made.communicates = !made.copies && (plain.starts_with("nccl") || plain.find("rccl") != std::string::npos ||
                                         plain.find("deep_ep") != std::string::npos);
    made_.device_events.push_back(std::move(made));
    if (made_.device_events.back().communicates && arguments.contains("Collective name"))
      described_.emplace(made_.device_events.back().correlation, note_of(arguments, name));
  }

  void add_call(const Json& arguments, const std::string& name, double begin, double time) {
    const bool waits = name.find("Synchronize") != std::string::npos || name == "cudaMemcpy" || name == "hipMemcpy";
    const auto correlation = named(arguments, "correlation", -1);
    made_.calls.push_back({begin, time, correlation, waits});
  }

  static CollectiveNote note_of(const Json& arguments, const std::string& name) {
    CollectiveNote note;
    const std::string called = text(arguments, "Collective name");
    note.known = exchange_named(called.empty() ? name : called, note.kind);
    const double count = number(arguments, "In msg nelems", -1), size = element_bytes(text(arguments, "dtype"));
    if (count >= 0 && size > 0) note.bytes = count * size;
    note.members = int_of(number(arguments, "Group size", 0)).value_or(0);
    note.ranks = ranks_in(text(arguments, "Process Group Ranks"));
    note.group = text(arguments, "Process Group Name");
    return note;
  }

  /// Older files: "nccl:all_reduce" with the shape of its tensor.
  static double bytes_of_shape(const Json& arguments) {
    const auto sizes = arguments.find("Input Dims"), types = arguments.find("Input type");
    if (sizes == arguments.end() || types == arguments.end() || !sizes->is_array() || !types->is_array() ||
        sizes->empty() || types->empty() || !(*types)[0].is_string())
      return -1;
    const double bytes = elements((*sizes)[0]) * element_bytes((*types)[0].get<std::string>());
    return bytes > 0 ? bytes : -1;
  }

  void add_note(const Json& event, const Json& arguments, const std::string& name, double begin, double time) {
    CollectiveNote note = note_of(arguments, name);
    note.begin = begin;
    note.end = begin + time;
    note.thread = named(event, "tid", 0);
    if (note.bytes < 0) note.bytes = bytes_of_shape(arguments);
    if (note.known && note.bytes >= 0) made_.notes.push_back(std::move(note));
  }

  /// What a kernel says of itself stands at its launch, too.
  void settle() {
    double first = std::numeric_limits<double>::infinity();
    for (const DeviceEvent& event : made_.device_events) first = std::min(first, event.begin);
    for (const HostCall& call : made_.calls) first = std::min(first, call.begin);
    for (DeviceEvent& event : made_.device_events) event.begin -= first;
    for (HostCall& call : made_.calls) call.begin -= first;
    for (CollectiveNote& note : made_.notes) note.begin -= first, note.end -= first;
    std::ranges::stable_sort(made_.device_events, {}, &DeviceEvent::begin);
    std::ranges::stable_sort(made_.calls, {}, &HostCall::begin);
    std::ranges::stable_sort(made_.notes, {}, &CollectiveNote::begin);
    made_.described = std::move(described_);
  }

  const std::string& path_;
  Json root_;
  KinetoEvents made_;
  std::map<std::int64_t, CollectiveNote> described_;
};

}  // namespace

KinetoEvents kineto_events(const std::string& path) { return EventReader(path).read(); }

}  // namespace trainyard
