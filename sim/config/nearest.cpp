#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "sim/config/message.hpp"
#include "sim/config/schema.hpp"

namespace trainyard {
namespace {

/// Case and the kind of separator are the most frequent slips; they cost nothing.
std::string folded(std::string_view word) {
  std::string result;
  for (const char c : word) {
    const bool separates = c == '-' || c == ' ' || c == '.';
    result += separates ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

/// Damerau-Levenshtein with each letter moved at most once (optimal string alignment): the number of insertions,
/// deletions, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

bool is_subsequence(std::string_view word, std::string_view of) {
  std::size_t matched = 0;
  for (const char c : of)
    if (matched < word.size() && c == word[matched]) ++matched;
  return matched == word.size();
}

/// Whether `word` is `name` with parts left out: V100-16 of V100-SXM2-16GB, p4d.24xlarge of aws.p4d.24xlarge.
bool abbreviates(std::string_view word, std::string_view name) {
  constexpr std::size_t kShortest = 3;
  if (word.size() < kShortest) return false;
  return name.find(word) != std::string_view::npos || (word[0] == name[0] && is_subsequence(word, name));
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 100;
  if (word.empty() || word.size() > kLongest) return "";
  const std::string wanted = folded(word);
  const std::string* best = nullptr;
  const std::string* longer = nullptr;
  std::size_t fewest = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest) continue;
    const std::string name = folded(candidate);
    const std::size_t distance = edit_distance(wanted, name);
    if (3 * distance <= std::max(wanted.size(), name.size()) && (best == nullptr || distance < fewest)) {
      best = &candidate;
      fewest = distance;
    }
    if (abbreviates(wanted, name) && (longer == nullptr || candidate.size() < longer->size())) longer = &candidate;
  }
  if (best != nullptr) return *best;
  return longer != nullptr ? *longer : "";
}

std::string unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  const std::string start = fmt::format("no {} {}", what, quoted(name));
  const std::string meant = nearest(name, known);
  if (!meant.empty()) return fmt::format("{}; did you mean \"{}\"?", start, meant);
  return known.empty() ? start : fmt::format("{}; known: {}", start, listed(known));
}

}  // namespace trainyard
