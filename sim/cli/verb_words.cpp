// What a shell completes of each verb, read off the options that CLI11 knows.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "sim/cli/commands.hpp"
#include "sim/cli/completion.hpp"
#include "sim/cli/import_verb.hpp"
#include "sim/cli/verb_options.hpp"

namespace trainyard {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

/// CLI11 shows a choice as `FORMAT:{table,json,csv}`; other types say where their values come from.
void add_values(const CLI::Option& option, const VerbInfo& info, OptionWords& words) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.rfind('}');
  const std::string plain = type.substr(0, type.find(':'));
  words.kind = ValueKind::words;
  if (open != std::string::npos && close != std::string::npos)
    words.words = split(type.substr(open + 1, close - open - 1));
  else if (words.name == "WHAT")
    words.words = catalogues();
  else if (words.name == "KIND")
    words.words = import_kinds();
  else if (plain == "NAMES")
    words.words = catalogue_names("strategies");
  else if (plain == "MODEL")
    words.words = catalogue_names("models");
  else if (words.name == "--gpu" && info.verb == Verb::import)
    words.words = catalogue_names("gpus");
  else if (words.name == "--instance")
    words.words = catalogue_names("instances");
  else
    words.kind = plain.starts_with("FILE") || plain == "DIR" || (plain.empty() && words.name != "NAME")
                     ? ValueKind::file
                     : ValueKind::free;
}

void add_words(const CLI::Option& option, const VerbInfo& info, VerbWords& verb) {
  const bool positional = option.get_positional();
  if (!positional && (option.get_lnames().empty() || option.get_lnames().front() == "help")) return;
  OptionWords words{positional ? option.get_name(true) : "--" + option.get_lnames().front(),
                    option.get_description(),
                    ValueKind::none,
                    {}};
  if (option.get_items_expected_max() > 0) add_values(option, info, words);
  (positional ? verb.positionals : verb.options).push_back(std::move(words));
}

}  // namespace

std::vector<VerbWords> verb_words() {
  std::vector<VerbWords> all;
  for (const VerbInfo& info : verbs()) {
    Arguments arguments;
    RawOptions raw;
    CLI::App app(info.summary, info.name);
    add_options(app, info, arguments, raw);
    all.push_back({info.name, info.summary, {}, {}});
    for (const CLI::Option* option : app.get_options()) add_words(*option, info, all.back());
  }
  return all;
}

}  // namespace trainyard
