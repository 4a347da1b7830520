#include "sim/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/commands.hpp"

namespace trainyard {
namespace {

std::string all_verbs(const std::vector<VerbWords>& verbs) {
  std::string words;
  for (const VerbWords& verb : verbs) words += verb.name + " ";
  return words + "--help --version";
}

std::string without(std::string text, std::string_view letters, char instead) {
  for (char& c : text)
    if (letters.find(c) != std::string_view::npos) c = instead;
  return text;
}

/// What bash does after this word.
std::string bash_values(const OptionWords& option) {
  if (option.kind == ValueKind::file) return "COMPREPLY=($(compgen -f -- \"$cur\"))";
  if (option.kind == ValueKind::words)
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", fmt::join(option.words, " "));
  return ":";
}

std::string bash_verb(const VerbWords& verb) {
  std::string text = fmt::format("    {})\n      case \"$prev\" in\n", verb.name), options = "--help";
  for (const OptionWords& option : verb.options) {
    options += " " + option.name;
    if (option.kind != ValueKind::none)
      text += fmt::format("        {}) {}; return ;;\n", option.name, bash_values(option));
  }
  text += fmt::format(
      "      esac\n      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return; fi\n", options);
  if (verb.positionals.size() > 1)
    text +=
        fmt::format("      if [ \"$COMP_CWORD\" -eq 2 ]; then {}; return; fi\n", bash_values(verb.positionals.front()));
  if (!verb.positionals.empty()) text += fmt::format("      {}\n", bash_values(verb.positionals.back()));
  return text + "      ;;\n";
}

/// A part of a `_arguments` specification.
std::string zsh_quoted(const std::string& text) { return without(text, "'[]:\\\"`$", ' '); }

std::string zsh_values(const OptionWords& option) {
  if (option.kind == ValueKind::file) return "_files";
  if (option.kind == ValueKind::words) return fmt::format("({})", fmt::join(option.words, " "));
  return " ";
}

std::string zsh_verb(const VerbWords& verb) {
  std::string text = fmt::format("    {})\n      _arguments '--help[this help]'", verb.name);
  for (const OptionWords& option : verb.options) {
    const std::string value = option.kind == ValueKind::none ? "" : fmt::format(":value:{}", zsh_values(option));
    text += fmt::format(" \\\n        '*{}[{}]{}'", option.name, zsh_quoted(option.help), value);
  }
  for (std::size_t i = 0; i < verb.positionals.size(); ++i) {
    const OptionWords& positional = verb.positionals[i];
    const std::string place = i + 1 == verb.positionals.size() ? "*" : std::to_string(i + 1);
    text += fmt::format(" \\\n        '{}:{}:{}'", place, positional.name, zsh_values(positional));
  }
  return text + "\n      ;;\n";
}

std::string fish_quoted(const std::string& text) { return "'" + without(text, "'\\", ' ') + "'"; }

std::string fish_values(const OptionWords& option) {
  if (option.kind == ValueKind::none) return "";
  if (option.kind == ValueKind::file) return " -r -F";
  if (option.kind == ValueKind::words)
    return fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(option.words, " "))));
  return " -x";
}

std::string fish_verb(const VerbWords& verb) {
  std::string text = fmt::format("complete -c trainyard -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                                 fish_quoted(verb.summary));
  const std::string here = fmt::format("complete -c trainyard -n '__fish_seen_subcommand_from {}'", verb.name);
  for (const OptionWords& option : verb.options)
    text +=
        fmt::format("{} -l {}{} -d {}\n", here, option.name.substr(2), fish_values(option), fish_quoted(option.help));
  for (const OptionWords& positional : verb.positionals)
    if (positional.kind == ValueKind::words)
      text += fmt::format("{} -f -a {}\n", here, fish_quoted(fmt::format("{}", fmt::join(positional.words, " "))));
  return text;
}

}  // namespace

std::string bash_completion(const std::vector<VerbWords>& verbs) {
  std::string text = fmt::format(
      "# bash completion of trainyard: source <(trainyard completion bash)\n"
      "_trainyard() {{\n"
      "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return; fi\n"
      "  case \"${{COMP_WORDS[1]}}\" in\n",
      all_verbs(verbs));
  for (const VerbWords& verb : verbs) text += bash_verb(verb);
  return text + "  esac\n}\ncomplete -o filenames -F _trainyard trainyard\n";
}

std::string zsh_completion(const std::vector<VerbWords>& verbs) {
  std::string text =
      "#compdef trainyard\n"
      "# zsh completion of trainyard: put it as _trainyard into a folder of $fpath\n"
      "_trainyard() {\n"
      "  local -a verbs\n"
      "  verbs=(\n";
  for (const VerbWords& verb : verbs) text += fmt::format("    '{}:{}'\n", verb.name, zsh_quoted(verb.summary));
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n";
  for (const VerbWords& verb : verbs) text += zsh_verb(verb);
  return text + "  esac\n}\ncompdef _trainyard trainyard\n";
}

std::string fish_completion(const std::vector<VerbWords>& verbs) {
  std::string text = "# fish completion of trainyard: trainyard completion fish | source\n";
  for (const VerbWords& verb : verbs) text += fish_verb(verb);
  return text;
}

std::string completion_text(const Arguments& arguments) {
  if (arguments.shell == "bash") return bash_completion(verb_words());
  return arguments.shell == "zsh" ? zsh_completion(verb_words()) : fish_completion(verb_words());
}

}  // namespace trainyard
