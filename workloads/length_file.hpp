// Lengths of samples from published traces of requests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// How often lengths occur. In the order of the file where each line is a request.
struct LengthTable {
  std::vector<double> lengths, weights;  ///< tokens; weights sum to 1
  std::string problem;                   ///< one line; "": none
};

/// `azure` (CSV: ContextTokens, GeneratedTokens), `vidur` (CSV: num_prefill_tokens, num_decode_tokens), `mooncake`
/// (JSON lines: input_length, output_length): prompt and answer of a request together, or the one that `field` names.
/// `servegen` (JSON of windows with probabilities): the windows that are not empty, equally; `field` defaults to
/// input_tokens. Lengths of zero are left out.
[[nodiscard]] LengthTable read_length_file(std::string_view text, std::string_view format, const std::string& field);

}  // namespace trainyard
