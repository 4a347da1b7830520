#include "sim/scenario/launch/launch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/scenario/launch/shell_text.hpp"

namespace trainyard::launch {
namespace {

constexpr std::array<std::string_view, 5> kLaunchers{"torchrun", "deepspeed", "srun", "mpirun", "torchx"};

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

bool is_launcher(const Word& word) {
  return std::ranges::find(kLaunchers, file_name(word.text)) != kLaunchers.end() ||
         word.text.starts_with("torch.distributed");
}

/// The word behind which the training's own arguments begin: FILE.py, or the module behind `-m` that is no launcher.
std::size_t program_in(const std::vector<Word>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].text.ends_with(".py")) return i;
    if (i > 0 && words[i - 1].text == "-m" && !is_launcher(words[i])) return i;
  }
  return words.size();
}

bool is_launch(const Statement& statement) {
  const bool launched = std::ranges::any_of(statement.words, is_launcher);
  const bool program = program_in(statement.words) < statement.words.size();
  const bool arguments = std::ranges::any_of(statement.words, [](const Word& w) { return w.text.starts_with("--"); });
  return arguments && (launched || program) && statement.words[0].text != "echo";
}

/// Lines that are arguments and nothing else.
std::vector<Word> bare_arguments(const ShellText& shell) {
  std::vector<Word> words;
  for (const Statement& statement : shell.statements)
    if (statement.words[0].text.starts_with("-") && !statement.conditional)
      words.insert(words.end(), statement.words.begin(), statement.words.end());
  return words;
}

SourcePlace whole_file(const std::string& name) {
  return {std::make_shared<const SourceFile>(SourceFile{name, {}}), 1, 1, ""};
}

void cut(const Statement& launch, LaunchScript& into, Diagnostics& diagnostics) {
  if (launch.conditional)
    diagnostics.add(
        launch.words[0].place,
        "the launch line stands inside a condition or a loop, which is not read; print the command with `echo` "
        "and import that");
  const std::size_t program = program_in(launch.words);
  if (program == launch.words.size())
    return diagnostics.add(launch.words[0].place, "a launch line without a program (FILE.py, or -m MODULE)");
  const auto at = launch.words.begin() + static_cast<std::ptrdiff_t>(program);
  into.launcher.assign(launch.words.begin(), at);
  into.arguments.assign(at + 1, launch.words.end());
}

struct LauncherOption {
  std::string_view name, setting;
};
constexpr std::array kOptions{LauncherOption{"--nproc_per_node", "job.gpus_per_node"},
                              LauncherOption{"--nproc-per-node", "job.gpus_per_node"},
                              LauncherOption{"--num_gpus", "job.gpus_per_node"},
                              LauncherOption{"--ntasks-per-node", "job.gpus_per_node"},
                              LauncherOption{"--nnodes", "job.nodes"},
                              LauncherOption{"--num_nodes", "job.nodes"},
                              LauncherOption{"--nodes", "job.nodes"}};

void read_option(const LauncherOption& option, const Given& given, Reading& into, Diagnostics& diagnostics) {
  const Word value = given.values.empty() ? Word{"", given.place, ""} : given.values[0];
  const bool digits =
      !value.text.empty() && value.text.size() < 8 && value.text.find_first_not_of("0123456789") == std::string::npos;
  if (!value.unknown.empty()) {
    into.notes.push_back(fmt::format("{}: {}", given.name, value.unknown));
  } else if (!digits || std::stoll(value.text) < 1) {
    diagnostics.add(value.place,
                    fmt::format("{}: expected a whole number above zero, got \"{}\"", given.name, value.text));
  } else {
    into.settings.set(std::string(option.setting), std::stoll(value.text));
    into.places[std::string(option.setting)] = given.place;
  }
}

}  // namespace

LaunchScript read_launch_script(const std::string& text, const std::string& name, Diagnostics& diagnostics) {
  const ShellText shell = read_shell(text, name, diagnostics);
  LaunchScript script;
  script.documents = shell.documents;
  const auto launch = std::ranges::find_if(shell.statements, is_launch);
  if (launch != shell.statements.end()) {
    cut(*launch, script, diagnostics);
    return script;
  }
  script.arguments = bare_arguments(shell);
  if (script.arguments.empty())
    diagnostics.add(whole_file(name),
                    "no launch line (torchrun, deepspeed, srun or python with a FILE.py) and no line of arguments");
  return script;
}

void read_launcher(const LaunchScript& script, Reading& into, Diagnostics& diagnostics) {
  const auto first =
      std::ranges::find_if(script.launcher, [](const Word& word) { return word.text.starts_with("--"); });
  for (const Given& given : given_arguments({first, script.launcher.end()}, diagnostics)) {
    const auto option = std::ranges::find(kOptions, std::string_view(given.name), &LauncherOption::name);
    if (option != kOptions.end()) read_option(*option, given, into, diagnostics);
  }
}

}  // namespace trainyard::launch
