#include "tests/support/megatron_arguments.hpp"

#include <fmt/format.h>

#include "experiments/input/formats/reading/read_model_file.hpp"
#include "tests/support/model_files.hpp"

namespace penstock::testing {

std::string megatron_args_refusal(const std::string& text) {
  return refusal_of_model(text, "megatron-args");
}

double number(const std::string& arguments, const std::string& kind, const std::string& name) {
  const LayerSpec found = layer(parse_model_file(least + arguments), kind);
  const auto value = found.numbers.find(name);
  return value == found.numbers.end() ? 0 : value->second;
}

std::string stages(const std::string& arguments) {
  std::string text;
  for (const auto& stage : parse_model_file(least + arguments).stages) {
    if (!text.empty()) text += "| ";
    for (const LayerIndex one : stage) text += fmt::format("{} ", index(one));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace penstock::testing
