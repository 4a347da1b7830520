#include "sim/config/view.hpp"

#include <fmt/format.h>

#include "sim/config/message.hpp"
#include "sim/config/scalar_check.hpp"
#include "sim/units/error.hpp"
#include "sim/units/number.hpp"
#include "sim/units/text.hpp"

namespace trainyard {
namespace {

using Kind = ConfigValue::Kind;

/// A schema that promised something else, or a check that was left out.
[[noreturn]] void surprise(const ConfigValue& value, std::string_view wanted) {
  throw InternalError(fmt::format("{} was read as {} but holds {}", value.place.path, wanted, described(value)));
}

const ConfigValue& present(const ConfigValue* value, std::string_view wanted) {
  if (value == nullptr) throw InternalError(fmt::format("an absent value was read as {}", wanted));
  return *value;
}

const ConfigValue& scalar(const ConfigValue* value, std::string_view wanted) {
  const ConfigValue& found = present(value, wanted);
  if (found.kind != Kind::scalar) surprise(found, wanted);
  return found;
}

}  // namespace

View View::operator[](std::string_view key) const {
  if (!*this) return {};
  if (value_->kind != Kind::map) surprise(*value_, "a map");
  const ConfigValue* found = value_->find(key);
  return found == nullptr ? View() : View(*found);
}

View View::at(std::size_t item) const {
  const ConfigValue& value = present(value_, "a list");
  if (item >= value.items.size()) surprise(value, fmt::format("a list with an element {}", item));
  return View(value.items[item]);
}

std::size_t View::size() const { return value_ == nullptr ? 0 : value_->items.size(); }

std::vector<std::string> View::keys() const {
  std::vector<std::string> result;
  if (!*this) return result;
  if (value_->kind != Kind::map) surprise(*value_, "a map");
  for (const auto& [key, place] : value_->keys) result.push_back(key);
  return result;
}

bool View::is_scalar() const { return value_ != nullptr && value_->kind == Kind::scalar; }
bool View::is_list() const { return value_ != nullptr && value_->kind == Kind::list; }
bool View::is_map() const { return value_ != nullptr && value_->kind == Kind::map; }

const SourcePlace& View::place() const { return present(value_, "a place").place; }
const ConfigValue& View::value() const { return present(value_, "a value"); }

std::string View::text() const { return scalar(value_, "text").scalar; }

std::int64_t View::integer() const {
  const ConfigValue& found = scalar(value_, "a whole number");
  const IntegerValue integer = parse_integer(found);
  if (!integer.value) surprise(found, "a whole number");
  return *integer.value;
}

double View::number() const {
  const ConfigValue& found = scalar(value_, "a number");
  if (!is_number(found)) surprise(found, "a number");
  return scan_number(found.scalar).value;
}

bool View::boolean() const {
  const ConfigValue& found = scalar(value_, "true or false");
  if (found.quoted || (found.scalar != "true" && found.scalar != "false")) surprise(found, "true or false");
  return found.scalar == "true";
}

template <class Q>
Q View::quantity() const {
  const ConfigValue& found = scalar(value_, "a quantity");
  const Parsed<Q> parsed = parse_quantity<Q>(found.scalar);
  if (!parsed.value) surprise(found, "a quantity");
  return *parsed.value;
}

template Seconds View::quantity<Seconds>() const;
template Bytes View::quantity<Bytes>() const;
template Flops View::quantity<Flops>() const;
template BytesPerSecond View::quantity<BytesPerSecond>() const;
template FlopsPerSecond View::quantity<FlopsPerSecond>() const;
template Dollars View::quantity<Dollars>() const;
template DollarsPerSecond View::quantity<DollarsPerSecond>() const;
template DollarsPerByte View::quantity<DollarsPerByte>() const;

std::string View::text_or(std::string fallback) const { return *this ? text() : std::move(fallback); }
std::int64_t View::integer_or(std::int64_t fallback) const { return *this ? integer() : fallback; }
double View::number_or(double fallback) const { return *this ? number() : fallback; }
bool View::boolean_or(bool fallback) const { return *this ? boolean() : fallback; }

}  // namespace trainyard
