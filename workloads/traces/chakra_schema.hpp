// Which version of Chakra's schema wrote a file.
#pragma once

#include <string>

namespace trainyard {

namespace chakra {
class GlobalMetadata;
class Node;
}  // namespace chakra

/// What is wrong with the version that metadata say; "" where it is 0.0.4, or not said.
[[nodiscard]] std::string wrong_version(const chakra::GlobalMetadata& metadata);

/// A field of the message that a Node of schema 0.0.4 has not, or has of another type; "" where there is none.
/// Sources: eg_def.proto and et_def.proto in the history of mlcommons/chakra and chakra-old. The first schemas have
/// what 0.0.4 calls attributes in fields 5 to 22 of the node, a later one a list of them in field 11; all number kinds
/// of nodes or of collectives in another way.
[[nodiscard]] std::string foreign_field(const std::string& message);

/// Where a node's name begins with a kind (COMP_NODE) that its type is not in 0.0.4, which shows an older schema in a
/// file that says no version; "" else.
[[nodiscard]] std::string foreign_kind(const chakra::Node& node);

}  // namespace trainyard
