#include "validation/junit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

namespace trainyard {

std::string to_junit(const std::vector<BaselineOutcome>& outcomes) {
  pugi::xml_document document;
  pugi::xml_node suite = document.append_child("testsuites").append_child("testsuite");
  suite.append_attribute("name") = "trainyard check";
  suite.append_attribute("tests") = static_cast<unsigned>(outcomes.size());
  suite.append_attribute("failures") = static_cast<unsigned>(
      std::count_if(outcomes.begin(), outcomes.end(), [](const BaselineOutcome& o) { return !o.drift.empty(); }));
  for (const BaselineOutcome& outcome : outcomes) {
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("classname") = "trainyard.check";
    test.append_attribute("name") = outcome.name.c_str();
    if (outcome.drift.empty()) continue;
    pugi::xml_node failure = test.append_child("failure");
    failure.append_attribute("message") = fmt::format("{} figures have drifted", outcome.drift.size()).c_str();
    failure.text() = fmt::format("{}", fmt::join(outcome.drift, "\n")).c_str();
  }
  std::ostringstream text;
  document.save(text, " ");
  return text.str();
}

}  // namespace trainyard
