// One table a framework says what each of its arguments means; reading and writing use the same one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/launch/settings.hpp"

namespace trainyard::launch {

/// A word of a launch script, after the shell's expansions.
struct Word {
  std::string text;
  SourcePlace place;
  std::string
      unknown;  ///< why a part of the text is not known, e.g. "DATA_PATH has no value in this file"; "" = all known
};

/// An argument as it was given.
struct Given {
  std::string name;
  std::vector<Word> values;
  SourcePlace place;
};

enum class Takes { nothing, count, number, word };

struct Spelling {
  std::string_view theirs, ours;
};

struct Argument {
  std::string_view name;     ///< "--num-layers", "parallelism.tensor_parallel_degree"
  std::string_view setting;  ///< key of Settings
  Takes takes = Takes::count;
  std::string_view absent{};      ///< the setting without the argument; "" = no setting
  std::vector<Spelling> words{};  ///< Takes::word: their spellings (empty: as it stands); Takes::nothing: {{"", ours}}
  bool only_read = false;         ///< an older or second spelling: never written
};

/// What happens to arguments that are no settings.
enum class Effect { none, not_simulated, refused };
struct Remark {
  std::string_view names;  ///< glob
  Effect effect;
  std::string_view why;  ///< not_simulated, refused: what follows the name
};

struct ArgumentTable {
  std::string_view framework;  ///< "Megatron-LM"
  std::vector<Argument> arguments;
  std::vector<Remark> remarks;  ///< the first that matches holds; arguments come before
};

/// Puts arguments into words. Later ones win. Unknown names (with the nearest known one), missing, superfluous, unknown
/// and wrong values and refused arguments go to `diagnostics`. Absent arguments get the framework's default.
void read_arguments(const ArgumentTable& table, const std::vector<Given>& given, Reading& into,
                    Diagnostics& diagnostics);

/// `NAME` or `NAME VALUE` for every setting that is not the framework's default, in the table's order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> write_arguments(const ArgumentTable& table,
                                                                               const Settings& settings);

/// `--name=value` and `--name value ..` of words; words before the first name go to `diagnostics`.
[[nodiscard]] std::vector<Given> given_arguments(const std::vector<Word>& words, Diagnostics& diagnostics);

}  // namespace trainyard::launch
