#include "experiments/json_input.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "sim/error.hpp"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int deepest = 64;

/// Watches a parse: refuses what the library would accept silently or could not survive.
class Guard {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest) {
      throw InputError(fmt::format("it is nested more than {} levels deep", deepest));
    }
    switch (event) {
      case json::parse_event_t::object_start: keys_.emplace_back(); break;
      case json::parse_event_t::object_end: keys_.pop_back(); break;
      case json::parse_event_t::key: add_key(parsed.get_ref<const std::string&>()); break;
      default: break;
    }
    return true;
  }

 private:
  void add_key(const std::string& key) {
    if (keys_.back().insert(key).second) return;
    throw InputError(fmt::format("key \"{}\" stands twice in one object", key));
  }

  std::vector<std::set<std::string>> keys_;
};

/// "line 3, column 7" of a byte of a text.
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  std::size_t line = 1;
  for (const char c : before) line += c == '\n' ? 1 : 0;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(1, before.size() - line_start));
}

/// The library's text without its prefix "[json.exception…] parse error at line 1, column 2: ".
std::string reason(const std::string& what) {
  const std::size_t syntax = what.find("syntax error");
  if (syntax != std::string::npos) return what.substr(syntax);
  const std::size_t bracket = what.find("] ");
  return bracket == std::string::npos ? what : what.substr(bracket + 2);
}

}  // namespace

json parse_json(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw InputError("the file is empty; a JSON document is needed");
  }
  try {
    // The parser keeps the callback by value, and calls it with one state throughout.
    Guard guard;
    return json::parse(text, [&guard](int depth, json::parse_event_t event, json& parsed) {
      return guard(depth, event, parsed);
    });
  } catch (const json::parse_error& error) {
    throw InputError(line_and_column(text, error.byte), reason(error.what()));
  } catch (const json::exception& error) {
    throw InputError(reason(error.what()));
  }
}

void apply_settings(json& document, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || !setting.starts_with('/')) {
      throw UsageError(fmt::format("--set {}: it must read /pointer=value", setting));
    }
    const std::string text = setting.substr(equals + 1);
    json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) value = text;
    try {
      document[json::json_pointer(setting.substr(0, equals))] = std::move(value);
    } catch (const json::exception& error) {
      throw UsageError(fmt::format("--set {}: {}", setting, reason(error.what())));
    }
  }
}

}  // namespace penstock
