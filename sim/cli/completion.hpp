// What a shell completes: scripts for bash, zsh and fish, made of the description of the command line itself.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// Where values come from.
enum class ValueKind { none, free, file, words };

struct OptionWords {
  std::string name;  ///< "--format"
  std::string help;
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;  ///< of ValueKind::words
};

struct VerbWords {
  std::string name, summary;
  std::vector<OptionWords> options;
  std::vector<OptionWords> positionals;  ///< names without dashes; the last one repeats
};

/// Every verb as `parse_arguments` reads it.
[[nodiscard]] std::vector<VerbWords> verb_words();

[[nodiscard]] std::string bash_completion(const std::vector<VerbWords>& verbs);
[[nodiscard]] std::string zsh_completion(const std::vector<VerbWords>& verbs);
[[nodiscard]] std::string fish_completion(const std::vector<VerbWords>& verbs);

}  // namespace trainyard
