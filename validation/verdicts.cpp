#include "validation/verdicts.hpp"

#include <fmt/format.h>

#include "validation/bands.hpp"

namespace trainyard {
namespace {

std::string share(std::size_t part, std::size_t other) {
  return part + other == 0 ? "-" : fmt::format("{} of {}", part, part + other);
}

std::string line(const std::string& name, const UncertainVerdicts& v) {
  return fmt::format("{:<14} {:>14} {:>14} {:>14} {:>16} {:>16}\n", name, share(v.out_out, v.out_fit), share(v.fits_fit, v.fits_out),
                     share(v.uncertain_out, v.uncertain_fit), share(v.out_out + v.uncertain_out, v.fits_out),
                     share(v.fits_fit + v.uncertain_fit, v.out_fit));
}

}  // namespace

UncertainVerdicts uncertain_verdicts(const std::vector<ComparedRow>& rows, const FillBounds& bounds) {
  UncertainVerdicts v;
  for (const ComparedRow& row : rows) {
    if (!row.measured.out_of_memory || !row.predicted.fill) continue;
    const bool out = *row.measured.out_of_memory;
    switch (fit_verdict(*row.predicted.fill, bounds)) {
      case FitVerdict::out: ++(out ? v.out_out : v.out_fit); break;
      case FitVerdict::uncertain: ++(out ? v.uncertain_out : v.uncertain_fit); break;
      case FitVerdict::fits: ++(out ? v.fits_out : v.fits_fit); break;
    }
  }
  return v;
}

std::string uncertain_text(const std::vector<ComparedRow>& rows) {
  std::vector<ComparedRow> test;
  bool any = false;
  for (const ComparedRow& row : rows) {
    any = any || (row.measured.out_of_memory && row.predicted.fill);
    if (split_of(row.measured) == "test") test.push_back(row);
  }
  if (!any) return "";
  const FillBounds bounds = draw_fill_bounds(rows);
  return fmt::format("{:<14} {:>14} {:>14} {:>14} {:>16} {:>16}   uncertain: fuller than {:.3f}, less than {:.3f} of the capacity\n", "with uncertain",
                     "said out: did", "said fits: did", "uncertain: out", "out not missed", "fits not missed", bounds.fits_below, bounds.out_above) +
         line("all rows", uncertain_verdicts(rows, bounds)) + line("test", uncertain_verdicts(test, bounds)) + "\n";
}

}  // namespace trainyard
