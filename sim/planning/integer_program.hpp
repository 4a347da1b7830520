// Linear and integer programs for planners, solved by COIN-OR CBC: one thread and a limit on nodes, so that the same program gives the
// same answer on any machine.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace trainyard {

enum class VariableId : std::int32_t {};

struct LinearTerm {
  VariableId variable{};
  double factor = 1;
};
using LinearSum = std::vector<LinearTerm>;

/// A point that meets every row.
struct ProgramSolution {
  std::vector<double> values;            ///< [variable]; those of integer variables are whole
  double cost = 0;
  bool proven = false;                   ///< no better point exists; false: the node limit came first
  [[nodiscard]] double operator[](VariableId variable) const { return values[std::size_t(variable)]; }
  [[nodiscard]] int whole(VariableId variable) const;
};

/// Minimises sum of cost · variable subject to rows.
class IntegerProgram {
 public:
  /// `cost`: per unit in the objective.
  VariableId add_continuous(double low, double high, double cost = 0);
  VariableId add_integer(int low, int high, double cost = 0);
  VariableId add_binary(double cost = 0) { return add_integer(0, 1, cost); }

  void at_most(const LinearSum& sum, double right);
  void at_least(const LinearSum& sum, double right);
  void equal(const LinearSum& sum, double right);

  /// The best point within `nodes` of the branch-and-bound tree; nothing where none was found (or none exists).
  [[nodiscard]] std::optional<ProgramSolution> minimise(int nodes) const;
  /// An integer variable's value in a point that is known to meet the rows: where the search begins.
  void start_at(VariableId variable, int value) { start_.emplace_back(int(variable), double(value)); }

 private:
  struct Column {
    double low = 0, high = 0, cost = 0;
    bool is_integer = false;
  };
  struct Row {
    LinearSum sum;
    char sense = 'L';                    ///< as CBC names them: L, G or E
    double right = 0;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
  std::vector<std::pair<int, double>> start_;
};

}  // namespace trainyard
