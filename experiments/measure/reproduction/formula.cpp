#include "experiments/measure/reproduction/formula.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <cmath>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

std::string known(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name.first;
  return text.empty() ? "no names" : text;
}

mu::Parser new_parser() {
  mu::Parser parser;
  parser.DefineFun("ceil", [](double value) { return std::ceil(value); });
  parser.DefineFun("floor", [](double value) { return std::floor(value); });
  return parser;
}

/// Making a parser takes longer than most formulas, so each thread keeps one, without state from
/// earlier formulas. Only names that can occur in the formula are defined.
double evaluate(const std::string& formula, const Names& names) {
  static const mu::valmap_type usual = new_parser().GetConst();
  thread_local mu::Parser parser = new_parser();
  parser.ClearConst();
  for (const auto& [name, value] : usual) parser.DefineConst(name, value);
  for (const auto& [name, value] : names) {
    if (formula.find(name) != std::string::npos) parser.DefineConst(name, value);
  }
  parser.SetExpr(formula);
  return parser.Eval();
}

}  // namespace

double value_of(const std::string& formula, const Names& names) {
  // Most formulas are a single name.
  if (const auto name = names.find(formula); name != names.end()) return name->second;
  double value = 0;
  try {
    value = evaluate(formula, names);
  } catch (const mu::ParserError& error) {
    throw InputError("", fmt::format("the formula \"{}\" is invalid: {} Known names: {}", formula,
                                     error.GetMsg(), known(names)));
  }
  if (std::isfinite(value)) return value;
  throw InputError("", fmt::format("the formula \"{}\" is not a finite number", formula));
}

}  // namespace penstock
