#include "experiments/input/files/json_view.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr std::string_view blanks = " \t\r\n";

/// The position after the string that opens at `at`; npos if it does not end.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : std::string_view::npos;
}

}  // namespace

bool has_outer_key(std::string_view text, std::string_view key) {
  text = without_byte_order_mark(text);
  std::size_t at = text.find_first_not_of(blanks);
  if (at == std::string_view::npos || text[at] != '{') return false;
  for (std::size_t depth = 0; (at = text.find_first_of("\"{}[]", at)) != std::string_view::npos;) {
    if (text[at] != '"') {
      depth += text[at] == '{' || text[at] == '[' ? 1 : -1;
      if (depth == 0) return false;
      ++at;
      continue;
    }
    const std::size_t end = behind_string(text, at);
    if (end == std::string_view::npos) return false;
    const std::size_t next = text.find_first_not_of(blanks, end);
    const bool is_key = depth == 1 && next != std::string_view::npos && text[next] == ':';
    if (is_key && text.substr(at + 1, end - at - 2) == key) return true;
    at = end;
  }
  return false;
}

void JsonView::fail(const std::string& what) const { throw InputError(where_, what); }

void JsonView::unlike(const std::string& wanted) const {
  const std::string text = value_->is_structured()
                               ? std::string(value_->is_object() ? "an object" : "a list")
                               : value_->dump();
  fail(fmt::format("{} is not {}", shortened(text), wanted));
}

bool JsonView::is_null() const { return value_->is_null(); }

std::optional<JsonView> JsonView::find(std::string_view key) const {
  if (!value_->is_object()) unlike("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return JsonView(*found, where_ + pointer_step(key));
}

JsonView JsonView::at(std::string_view key) const {
  if (auto found = find(key)) return *std::move(found);
  throw InputError(where_ + pointer_step(key), fmt::format("\"{}\" is missing", key));
}

std::vector<std::pair<std::string, JsonView>> JsonView::entries() const {
  if (!value_->is_object()) unlike("an object");
  std::vector<std::pair<std::string, JsonView>> all;
  for (const auto& [key, value] : value_->items()) {
    all.emplace_back(key, JsonView(value, where_ + pointer_step(key)));
  }
  return all;
}

std::vector<JsonView> JsonView::items() const {
  if (!value_->is_array()) unlike("a list");
  if (value_->size() > Limits::layers) {
    fail(fmt::format("the list has {} items; {} are the most", value_->size(), Limits::layers));
  }
  std::vector<JsonView> all;
  all.reserve(value_->size());
  for (const json& value : *value_) {
    all.emplace_back(value, fmt::format("{}/{}", where_, all.size()));
  }
  return all;
}

double JsonView::number(double least, double most) const {
  if (value_->is_number()) {
    const double number = value_->get<double>();
    if (number >= least && number <= most) return number;
  }
  unlike(fmt::format("a number from {} to {}", least, most));
}

std::uint32_t JsonView::whole(std::uint32_t most) const {
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() <= most) {
    return value_->get<std::uint32_t>();
  }
  unlike(fmt::format("a whole number from 0 to {}", most));
}

const std::string& JsonView::text() const {
  if (!value_->is_string()) unlike("a text");
  return value_->get_ref<const std::string&>();
}

bool JsonView::flag() const {
  if (value_->is_boolean()) return value_->get<bool>();
  if (*value_ == 0 || *value_ == 1) return *value_ == 1;
  unlike("true, false, 1 or 0");
}

}  // namespace penstock
