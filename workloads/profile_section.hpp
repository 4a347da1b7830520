// `workload.profile`: a file in our own form, or files of other programs and what they leave open.
#pragma once

#include <string>

#include "sim/config/schema.hpp"
#include "sim/config/view.hpp"
#include "workloads/profile_table.hpp"

namespace trainyard {

[[nodiscard]] Schema profile_section_schema();

/// Whether the table comes without bytes, so that the section needs a `model`.
[[nodiscard]] bool profile_needs_model(const View& profile);

/// What the scenario says of the workload beside the profile.
struct ProfileContext {
  std::string directory;
  double sequence_length = 0;           ///< tokens; 0 where samples have none
};

[[nodiscard]] ProfileTable read_profile_section(const View& profile, const ProfileContext& context, Diagnostics& diagnostics);

}  // namespace trainyard
