// The two kinds of exception. What a simulation may legally yield (does not fit, was preempted) is a value.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace trainyard {

/// The user's mistake: exit status 2. `what()` holds the complete message, possibly of several lines.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A bug in Trainyard: exit status 70.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

/// Throws InternalError naming the place unless `holds`.
void require(bool holds, std::string_view what, std::source_location where = std::source_location::current());

}  // namespace trainyard
