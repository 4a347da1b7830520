#include "sim/planning/integer_program.hpp"

#include <coin/Cbc_C_Interface.h>

#include <cmath>
#include <memory>
#include <string>

namespace trainyard {
namespace {

struct ModelDeleter {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, ModelDeleter>;

}  // namespace

int ProgramSolution::whole(VariableId variable) const { return int(std::lround((*this)[variable])); }

VariableId IntegerProgram::add_continuous(double low, double high, double cost) {
  columns_.push_back({low, high, cost, false});
  return VariableId(columns_.size() - 1);
}

VariableId IntegerProgram::add_integer(int low, int high, double cost) {
  columns_.push_back({double(low), double(high), cost, true});
  return VariableId(columns_.size() - 1);
}

void IntegerProgram::at_most(const LinearSum& sum, double right) { rows_.push_back({sum, 'L', right}); }
void IntegerProgram::at_least(const LinearSum& sum, double right) { rows_.push_back({sum, 'G', right}); }
void IntegerProgram::equal(const LinearSum& sum, double right) { rows_.push_back({sum, 'E', right}); }

std::optional<ProgramSolution> IntegerProgram::minimise(int nodes) const {
  const Model model(Cbc_newModel());
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setParameter(model.get(), "log", "0");
  Cbc_setParameter(model.get(), "maxNodes", std::to_string(nodes).c_str());
  for (const Column& column : columns_)
    Cbc_addCol(model.get(), "", column.low, column.high, column.cost, char(column.is_integer), 0, nullptr, nullptr);
  for (const Row& row : rows_) {
    std::vector<int> which;
    std::vector<double> factors;
    for (const LinearTerm& term : row.sum) {
      which.push_back(int(term.variable));
      factors.push_back(term.factor);
    }
    Cbc_addRow(model.get(), "", int(which.size()), which.data(), factors.data(), row.sense, row.right);
  }
  if (!start_.empty()) {
    std::vector<int> columns;
    std::vector<double> values;
    for (const auto& [column, value] : start_) columns.push_back(column), values.push_back(value);
    Cbc_setMIPStartI(model.get(), int(columns.size()), columns.data(), values.data());
  }
  Cbc_solve(model.get());
  if (Cbc_isProvenInfeasible(model.get())) return std::nullopt;
  const bool proven = Cbc_isProvenOptimal(model.get());
  const double* best = Cbc_bestSolution(model.get());
  if (!best && proven) best = Cbc_getColSolution(model.get());  // a program without integers keeps no list of solutions
  if (!best) return std::nullopt;
  ProgramSolution solution;
  solution.proven = proven;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    solution.values.push_back(columns_[i].is_integer ? std::round(best[i]) : best[i]);
    solution.cost += columns_[i].cost * solution.values.back();
  }
  return solution;
}

}  // namespace trainyard
