// Values as bytes, for the way between processes of one program (same machine, same build). Structures take part through
// visit_fields() (see sim/model/task_graph_fields.hpp).
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sim/units/error.hpp"
#include "sim/units/quantity.hpp"

namespace trainyard::binary {

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (add(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <Plain T>
  void add(T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
  }
  template <int A, int B, int C, int D>
  void add(Quantity<A, B, C, D> q) {
    add(q.value);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes_ += text;
  }
  template <class A, class B>
  void add(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class T, std::size_t N>
  void add(const std::array<T, N>& values) {
    for (const T& value : values) add(value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(values.size());
    for (const T& value : values) add(value);
  }
  template <class... T>
  void add(const std::variant<T...>& value) {
    add(value.index());
    std::visit([this](const auto& alternative) { add(alternative); }, value);
  }
  template <class T>
    requires(!Plain<T>)
  void add(const T& value) {
    visit_fields(value, *this);
  }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  void expect_end() const { require(rest_.empty(), "a message between processes goes on after its end"); }

 private:
  std::string_view take(std::size_t count) {
    require(count <= rest_.size(), "a message between processes is cut short");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <Plain T>
  void get(T& value) {
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
  }
  void get(bool& value) {
    const char raw = take(1).front();
    require(raw == 0 || raw == 1, "a message between processes has a truth value that is neither");
    value = raw == 1;
  }
  template <int A, int B, int C, int D>
  void get(Quantity<A, B, C, D>& q) {
    get(q.value);
  }
  void get(std::string& text) { text = take(count()); }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }
  template <class T, std::size_t N>
  void get(std::array<T, N>& values) {
    for (T& value : values) get(value);
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(count());
    for (T& value : values) get(value);
  }
  template <class... T>
  void get(std::variant<T...>& value) {
    std::size_t which = 0;
    get(which);
    require(which < sizeof...(T), "a message between processes has an alternative that does not exist");
    std::size_t i = 0;
    ((i++ == which ? get(value.template emplace<T>()) : void()), ...);
  }
  template <class T>
    requires(!Plain<T>)
  void get(T& value) {
    visit_fields(value, *this);
  }
  /// Every element takes a byte or more: a count beyond what is left is damage, not a reason to allocate.
  std::size_t count() {
    std::size_t n = 0;
    get(n);
    require(n <= rest_.size(), "a message between processes is cut short");
    return n;
  }

  std::string_view rest_;
};

template <class T>
[[nodiscard]] std::string encoded(const T& value) {
  Writer writer;
  writer(value);
  return writer.take();
}

/// InternalError if the bytes are cut short, go on too long or cannot be such a value.
template <class T>
[[nodiscard]] T decoded(std::string_view bytes) {
  T value{};
  Reader reader(bytes);
  reader(value);
  reader.expect_end();
  return value;
}

}  // namespace trainyard::binary
