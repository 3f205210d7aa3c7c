#include "experiments/input/scenario/one_of.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// "a", "b" and "c".
std::string quoted_list(const std::vector<std::string>& keys) {
  std::string text;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) text += i + 1 == keys.size() ? " and " : ", ";
    text += fmt::format("\"{}\"", keys[i]);
  }
  return text;
}

}  // namespace

void check_one_of(const nlohmann::json& section, const char* place,
                  std::initializer_list<const char*> keys, bool optional) {
  std::vector<std::string> given;
  for (const char* key : keys) {
    if (section.contains(key)) given.emplace_back(key);
  }
  if (given.size() == 1 || (given.empty() && optional)) return;
  const std::vector<std::string> known(keys.begin(), keys.end());
  std::string what = fmt::format("it must have {}one of {}; it has {}", optional ? "at most " : "",
                                 quoted_list(known), given.empty() ? "none" : quoted_list(given));
  if (!given.empty()) {  // a setting for one of them leaves the other there
    what += fmt::format("; --set '{}={{\"{}\": …}}' replaces the section", place, given.back());
  }
  throw InputError(place, what);
}

}  // namespace penstock
