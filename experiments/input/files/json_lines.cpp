#include "experiments/input/files/json_lines.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using LineTaker = std::function<void(const nlohmann::json& line)>;

/// A line is a document of its own, so its errors are in its line 1: only the column is kept.
InputError in_line(std::size_t number, const InputError& error) {
  constexpr std::string_view first = "line 1, ";
  const std::string& where = error.where();
  if (where.starts_with(first)) {
    return InputError(fmt::format("line {}, {}", number, where.substr(first.size())), error.what());
  }
  return InputError(fmt::format("line {}{}{}", number, where.empty() ? "" : ": ", where),
                    error.what());
}

void read_line(std::string_view text, std::size_t number, const LineTaker& take) {
  try {
    take(parse_json(text));
  } catch (const InputError& error) {
    throw in_line(number, error);
  }
}

}  // namespace

void for_each_json_line(const std::string& path, const LineTaker& take) {
  const std::string content = read_file(path);
  about_file(path, [&] {
    std::string_view rest = without_byte_order_mark(content);
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::string_view line = take_line(rest);
      const bool is_cut_off = rest.empty() && !content.ends_with('\n') && !is_json(line);
      if (!is_cut_off && !trimmed(line).empty()) read_line(line, number, take);
    }
  });
}

}  // namespace penstock
