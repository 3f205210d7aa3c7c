#include "experiments/reproduction/formula.hpp"

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

double evaluate(const std::string& formula, const Names& names) {
  mu::Parser parser;
  parser.DefineFun("ceil", [](double value) { return std::ceil(value); });
  parser.DefineFun("floor", [](double value) { return std::floor(value); });
  for (const auto& [name, value] : names) parser.DefineConst(name, value);
  parser.SetExpr(formula);
  return parser.Eval();
}

}  // namespace

double value_of(const std::string& formula, const Names& names) {
  // Most formulas are a name.
  if (const auto name = names.find(formula); name != names.end()) return name->second;
  double value = 0;
  try {
    value = evaluate(formula, names);
  } catch (const mu::ParserError& error) {
    throw InputError("", fmt::format("the formula \"{}\" does not come out: {} It may name {}",
                                     formula, error.GetMsg(), known(names)));
  }
  if (std::isfinite(value)) return value;
  throw InputError("", fmt::format("the formula \"{}\" comes to no finite number", formula));
}

}  // namespace penstock
