#include "experiments/plan/sweeps/row_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/json_input.hpp"

namespace penstock {

namespace {

using nlohmann::ordered_json;

bool is_finding(const ordered_json& finding) {
  return finding.is_object() && finding.value("kind", ordered_json("")).is_string() &&
         finding.contains("text") && finding["text"].is_string();
}

/// Throws InputError with a pointer.
void check_row(const ordered_json& row) {
  const auto has = [&](const char* key, bool (ordered_json::*is_right)() const noexcept) {
    return !row.contains(key) || (row[key].*is_right)();
  };
  if (!has("hash", &ordered_json::is_string)) throw InputError("/hash", "expected a text");
  if (!has("result", &ordered_json::is_object)) throw InputError("/result", "expected an object");
  if (!has("findings", &ordered_json::is_array)) throw InputError("/findings", "expected a list");
  const ordered_json findings = row.value("findings", ordered_json::array());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (is_finding(findings[i])) continue;
    throw InputError(fmt::format("/findings/{}", i), "expected an object with kind and text");
  }
}

}  // namespace

ordered_json row_document(std::string_view line, std::uint64_t number) {
  try {
    ordered_json row = parse_ordered_json(line);
    const bool is_row = row.is_object() && row.contains("item") &&
                        row["item"].is_number_unsigned() && row.contains("configuration") &&
                        row["configuration"].is_object();
    if (is_row) {
      check_row(row);
      return row;
    }
  } catch (const InputError& error) {
    const std::string& where = error.where();
    const bool is_json = !where.starts_with("line ") && !line.empty();
    if (is_json) {
      throw InputError(fmt::format("line {}{}{}", number, where.empty() ? "" : ": ", where),
                       error.what());
    }
  }
  throw InputError(fmt::format("line {} is no row of a sweep", number));
}

std::optional<RowLabel> label_of_row(std::string_view row) {
  try {
    const ordered_json document = parse_ordered_json(row);
    if (!document.is_object()) return std::nullopt;
    const auto has_number = [&](const char* key) {
      return document.contains(key) && document[key].is_number_unsigned();
    };
    const auto has_text = [&](const char* key) {
      return document.contains(key) && document[key].is_string();
    };
    if (!has_number("item") || !has_number("of") || !has_text("sweep") || !has_text("version")) {
      return std::nullopt;
    }
    return RowLabel{document["item"], document["of"], document["sweep"], document["version"]};
  } catch (const InputError&) {
    return std::nullopt;
  }
}

RowLines::RowLines(std::string path) : path_(std::move(path)) {
  try {
    file_ = open_input(path_);
  } catch (const InputError& error) {
    throw refused_file(path_, error.what());
  }
}

std::optional<std::string_view> RowLines::next() {
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = end + 1;
      ++lines_;
      return line;
    }
    searched = buffer_.size() - begin_;
    if (searched > JsonLimits::line_bytes) {
      throw refused_file(path_, fmt::format("line {}: it is longer than {} bytes", lines_ + 1,
                                            JsonLimits::line_bytes));
    }
    if (!fill()) return std::nullopt;
  }
}

/// Moves what is left to the front and reads more behind it.
bool RowLines::fill() {
  constexpr std::size_t piece = 1 << 20;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + piece);
  const ssize_t read = ::read(::fileno(file_.get()), buffer_.data() + before, piece);
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(read, 0)));
  if (read < 0) throw refused_file(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  return read > 0;
}

}  // namespace penstock
