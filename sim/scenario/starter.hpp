// The scenario that `trainyard init` prints.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// What its command line may say; "", 0 and empty: the default.
struct StarterOptions {
  std::vector<std::string> nodes;  ///< COUNTxNAME or NAME, of an instance or a GPU; default: 2xaws.p4d.24xlarge
  std::string nic, price, market;  ///< nic, price: of nodes of a GPU
  std::string model, precision, objective;
  int sequence_length = 0, global_batch = 0;
  std::vector<std::string> strategies;
};

/// What of it is written so that it counts; the rest stands as a comment.
struct StarterParts {
  bool fixed_plan = true;  ///< a Plan of one's own beside the strategies
  bool sequences = true;   ///< length of sequences
  bool longer = true;      ///< a variant with longer ones
};

/// A commented scenario. Throws UserError for nodes whose name is neither an instance nor a GPU. Whether it loads is
/// the caller's to find out: a Plan that does not divide the model, a model without sequences.
[[nodiscard]] std::string starter_scenario(const StarterOptions& options = {}, const StarterParts& parts = {});

}  // namespace trainyard
