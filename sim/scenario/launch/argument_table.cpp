#include "sim/scenario/launch/argument_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sim/config/schema.hpp"
#include "sim/model/plan.hpp"

namespace trainyard::launch {
namespace {

constexpr std::int64_t kMostCount = 1'000'000'000'000;

std::optional<std::int64_t> count_in(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && value >= -1 && value <= kMostCount ? std::optional(value) : std::nullopt;
}

bool is_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

const Argument* find_argument(const ArgumentTable& table, std::string_view name) {
  const auto found = std::ranges::find(table.arguments, name, &Argument::name);
  return found == table.arguments.end() ? nullptr : &*found;
}

const Remark* find_remark(const ArgumentTable& table, std::string_view name) {
  const auto found =
      std::ranges::find_if(table.remarks, [&](const Remark& it) { return glob_matches(it.names, name); });
  return found == table.remarks.end() ? nullptr : &*found;
}

/// Names that a slip of the pen may have meant.
std::vector<std::string> known_names(const ArgumentTable& table) {
  std::vector<std::string> names;
  for (const Argument& argument : table.arguments) names.emplace_back(argument.name);
  for (const Remark& remark : table.remarks)
    if (remark.names.find('*') == std::string_view::npos) names.emplace_back(remark.names);
  return names;
}

class Reader {
 public:
  Reader(const ArgumentTable& table, Reading& into, Diagnostics& diagnostics)
      : table_(table), into_(into), diagnostics_(diagnostics) {}

  void read(const Given& given) {
    if (const Argument* argument = find_argument(table_, given.name)) return setting(*argument, given);
    if (const Remark* remark = find_remark(table_, given.name)) return remarked(*remark, given);
    const std::string what = fmt::format("argument of {}", table_.framework);
    diagnostics_.add(given.place, unknown_argument(what, given.name));
  }

  void defaults() {
    for (const Argument& argument : table_.arguments)
      if (!argument.absent.empty() && !into_.settings.has(argument.setting))
        into_.settings.set(std::string(argument.setting), std::string(argument.absent));
  }

 private:
  /// Without the whole table where nothing is near.
  std::string unknown_argument(const std::string& what, const std::string& name) const {
    const std::string near = nearest(name, known_names(table_));
    return fmt::format("no {} \"{}\"{}", what, name, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  }

  void remarked(const Remark& remark, const Given& given) {
    for (std::size_t i = 1; i < given.values.size(); ++i)
      if (!given.values[i].unknown.empty()) return diagnostics_.add(given.values[i].place, given.values[i].unknown);
    const std::string line = fmt::format("{}: {}", given.name, remark.why);
    if (remark.effect == Effect::refused) return diagnostics_.add(given.place, line);
    std::vector<std::string>& list = remark.effect == Effect::none ? into_.without_effect : into_.notes;
    const std::string& entry = remark.effect == Effect::none ? given.name : line;
    if (std::ranges::find(list, entry) == list.end()) list.push_back(entry);
  }

  void setting(const Argument& argument, const Given& given) {
    const std::size_t wanted = argument.takes == Takes::nothing ? 0 : 1;
    if (given.values.size() < wanted) return diagnostics_.add(given.place, given.name + " needs a value");
    for (const Word& word : given.values)
      if (!word.unknown.empty()) return diagnostics_.add(word.place, word.unknown);
    if (given.values.size() > wanted)
      return diagnostics_.add(given.values[wanted].place,
                              fmt::format("{} takes {}, got \"{}\" too", given.name,
                                          wanted == 0 ? "no value" : "one value", given.values[wanted].text));
    const std::optional<std::string> value =
        wanted == 0 ? std::string(argument.words.at(0).ours) : ours(argument, given);
    if (!value || contradicts(argument, given, *value)) return;
    into_.said_by[std::string(argument.setting)] = given.name;
    into_.settings.set(std::string(argument.setting), *value);
    into_.places[std::string(argument.setting)] = given.place;
  }

  /// Another argument said the same setting otherwise.
  bool contradicts(const Argument& argument, const Given& given, const std::string& value) {
    const auto before = into_.said_by.find(argument.setting);
    if (before == into_.said_by.end() || before->second == given.name || into_.settings.is(argument.setting, value))
      return false;
    diagnostics_.add(given.place, fmt::format("{} contradicts {}", given.name, before->second));
    return true;
  }

  std::optional<std::string> ours(const Argument& argument, const Given& given) {
    const Word& word = given.values[0];
    if (argument.takes == Takes::count && !count_in(word.text)) return wrong(given, "expected a whole number");
    if (argument.takes == Takes::number && !is_number(word.text)) return wrong(given, "expected a number");
    if (argument.takes == Takes::count) return std::to_string(*count_in(word.text));
    if (argument.words.empty()) return word.text;
    const auto found = std::ranges::find(argument.words, std::string_view(word.text), &Spelling::theirs);
    if (found != argument.words.end()) return std::string(found->ours);
    std::vector<std::string> known;
    for (const Spelling& spelling : argument.words) known.emplace_back(spelling.theirs);
    diagnostics_.add(word.place, fmt::format("{}: {}", given.name, unknown_name("value", word.text, known)));
    return std::nullopt;
  }

  std::nullopt_t wrong(const Given& given, std::string_view expected) {
    diagnostics_.add(given.values[0].place,
                     fmt::format("{}: {}, got \"{}\"", given.name, expected, given.values[0].text));
    return std::nullopt;
  }

  const ArgumentTable& table_;
  Reading& into_;
  Diagnostics& diagnostics_;
};

}  // namespace

void read_arguments(const ArgumentTable& table, const std::vector<Given>& given, Reading& into,
                    Diagnostics& diagnostics) {
  Reader reader(table, into, diagnostics);
  for (const Given& argument : given) reader.read(argument);
  reader.defaults();
}

std::vector<std::pair<std::string, std::string>> write_arguments(const ArgumentTable& table, const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> written;
  for (const Argument& argument : table.arguments) {
    const std::string value = settings.get(argument.setting);
    if (argument.only_read || value.empty() || value == argument.absent) continue;
    const auto spelling = std::ranges::find(argument.words, std::string_view(value), &Spelling::ours);
    if (!argument.words.empty() && spelling == argument.words.end()) continue;  // said by another argument
    const bool as_it_stands = argument.words.empty();
    written.emplace_back(argument.name, as_it_stands ? value : std::string(spelling->theirs));
  }
  return written;
}

std::vector<Given> given_arguments(const std::vector<Word>& words, Diagnostics& diagnostics) {
  std::vector<Given> all;
  for (const Word& word : words) {
    const std::size_t equals = word.text.find('=');
    const bool is_name = word.text.starts_with("--");
    if (is_name && equals == std::string::npos && !word.unknown.empty()) {
      diagnostics.add(word.place, word.unknown);
    } else if (is_name) {
      all.push_back({word.text.substr(0, equals), {}, word.place});
      if (equals != std::string::npos)
        all.back().values.push_back({word.text.substr(equals + 1), word.place, word.unknown});
    } else if (!all.empty()) {
      all.back().values.push_back(word);
    } else {
      diagnostics.add(word.place,
                      word.unknown.empty() ? fmt::format("expected an argument, got \"{}\"", word.text) : word.unknown);
    }
  }
  return all;
}

}  // namespace trainyard::launch
