#include "sim/cli/arguments.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <thread>

#include "sim/cli/verb_options.hpp"
#include "sim/config/schema.hpp"

namespace trainyard {
namespace {

const std::map<std::string, Format> kFormats{{"table", Format::table}, {"json", Format::json}, {"csv", Format::csv}};
const std::map<std::string, Colour> kColours{
    {"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}};

int cores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const VerbInfo& info : verbs()) names.emplace_back(info.name);
  return names;
}

Stop misuse(const std::string& where, const std::string& what) {
  return {2, fmt::format("{}: {}\nTry: {} --help\n", where, what, where)};
}

std::vector<std::string> option_names(const CLI::App& verb) {
  std::vector<std::string> names{"--help"};
  for (const CLI::Option* option : verb.get_options([](const CLI::Option* o) { return !o->get_lnames().empty(); }))
    names.push_back("--" + option->get_lnames().front());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// An option that is not there, found before CLI11 complains about something that follows from it.
std::optional<Stop> unknown_option(const CLI::App& verb, const std::string& where,
                                   const std::vector<std::string>& words) {
  const std::vector<std::string> known = option_names(verb);
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    const bool is_option = name.size() > 1 && name[0] == '-' && name != "-h";
    if (is_option && std::find(known.begin(), known.end(), name) == known.end())
      return misuse(where, unknown_name("option", name, known));
  }
  return std::nullopt;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::optional<Stop> wrong_catalogue(const Arguments& arguments) {
  if (arguments.verb != Verb::list) return std::nullopt;
  if (std::find(catalogues().begin(), catalogues().end(), arguments.list_what) != catalogues().end())
    return std::nullopt;
  return misuse("trainyard list", unknown_name("catalogue", arguments.list_what, catalogues()));
}

/// `I/N` with 1 <= I <= N.
std::optional<Stop> wrong_shard(const std::string& text, const std::string& where, Arguments& arguments) {
  char rest = 0;
  const bool read = std::sscanf(text.c_str(), "%d/%d%c", &arguments.shard, &arguments.shards, &rest) == 2;
  if (read && arguments.shard >= 1 && arguments.shard <= arguments.shards) return std::nullopt;
  return misuse(where, fmt::format("--shard is I/N with I from 1 to N, such as 3/8, not \"{}\"", text));
}

std::variant<Arguments, Stop> parse_verb(const VerbInfo& info, std::vector<std::string> words) {
  const std::string where = std::string("trainyard ") + info.name;
  Arguments arguments;
  arguments.verb = info.verb;
  arguments.jobs = cores();
  RawOptions raw;
  CLI::App app(info.summary, where);
  app.footer(std::string("Examples:\n") + info.examples);
  add_options(app, info, arguments, raw);
  if (const auto stop = unknown_option(app, where, words)) return *stop;
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    return Stop{0, app.help()};
  } catch (const CLI::ParseError& error) {
    return misuse(where, one_line(error.what()));
  }
  if (const auto stop = wrong_catalogue(arguments)) return *stop;
  if (const auto stop = wrong_shard(raw.shard, where, arguments)) return *stop;
  arguments.format = kFormats.at(raw.format);
  arguments.colour = kColours.at(raw.colour);
  arguments.symmetry = !raw.no_symmetry;
  arguments.full_detail = raw.detail == "full";
  return arguments;
}

std::string overview() {
  std::string text =
      "trainyard: which way of training a model is fastest, and which is cheapest, on given GPUs, networks and "
      "prices\n\n"
      "Usage: trainyard VERB ...\n\n";
  for (const VerbInfo& info : verbs()) text += fmt::format("  {:<10} {}\n", info.name, info.summary);
  return text +
         "\n  --help, after a verb too; --version\n\nA start:\n  trainyard init > first.yaml\n  trainyard explain "
         "first.yaml\n"
         "  trainyard compare first.yaml\n\n"
         "Exit status: 0 done; 1 a check or budget failed; 2 wrong input or usage; 3 no strategy found a plan that "
         "fits; 4 a case ended in an "
         "error;\n"
         "70 a bug in Trainyard; 74 an output could not be written; 130 interrupted.\n";
}

Stop no_such_verb(const std::string& word) {
  if (word.starts_with("-")) return misuse("trainyard", unknown_name("option", word, {"--help", "--version"}));
  return misuse("trainyard", unknown_name("verb", word, verb_names()));
}

}  // namespace

std::variant<Arguments, Stop> parse_arguments(const std::vector<std::string>& words, const std::string& version) {
  if (words.empty()) return Stop{2, overview()};
  const std::string& first = words.front();
  if (first == "--help" || first == "-h" || first == "help") return Stop{0, overview()};
  if (first == "--version") return Stop{0, "trainyard " + version + "\n"};
  const std::span<const VerbInfo> all = verbs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const VerbInfo& info) { return first == info.name; });
  if (found == verbs().end()) return no_such_verb(first);
  return parse_verb(*found, {words.begin() + 1, words.end()});
}

}  // namespace trainyard
