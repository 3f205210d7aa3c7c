#include "experiments/input/files/own_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "experiments/input/files/byte_stream.hpp"
#include "experiments/input/files/files.hpp"
#include "experiments/input/files/json_input.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t head_bytes = 512;
constexpr long tail_bytes = 128;

/// The heads of tables as CSV, which has no place for a mark.
constexpr std::array<std::string_view, 7> own_tables{"item,hash,",
                                                     "series,",
                                                     "quantity,",
                                                     "rank,link,pass,stage,",
                                                     "rank,time_us,bytes",
                                                     "panel,series,unit,",
                                                     "seconds,gibibytes,on_front"};

/// The first bytes, unpacked.
std::string head_of(const std::string& path) {
  ByteStream bytes(path, Limits::input_file_bytes, Limits::input_file_bytes);
  std::string head;
  for (; head.size() < head_bytes && !bytes.ended(); bytes.advance()) head += bytes.current();
  return head;
}

std::string tail_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return {};
  if (std::fseek(file.get(), -tail_bytes, SEEK_END) != 0) return {};  // all of it is head
  std::string tail(tail_bytes, '\0');
  tail.resize(std::fread(tail.data(), 1, tail.size(), file.get()));
  return tail;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Whether a file of a format without a place for the mark begins like this.
bool is_own_beginning(std::string_view head) {
  const bool timeline = head.starts_with("PENSTOCK") && contains(head, std::string_view("\0", 1));
  constexpr std::size_t at_id = 68;
  const bool database = head.starts_with("SQLite format 3") && head.substr(at_id, 4) == "PENS";
  const bool row = head.starts_with(R"({"item":)") && contains(head, R"(,"sweep":")");
  return timeline || database || row ||
         std::any_of(own_tables.begin(), own_tables.end(),
                     [&](auto begin) { return head.starts_with(begin); });
}

/// Whether it is a report, or a scenario that says that a command wrote it.
bool is_own_json(const std::string& path) {
  const nlohmann::json document = parse_json(read_file(path));
  if (!document.is_object() || !document.contains("penstock")) return false;
  const auto about = document.find("description");
  return !document.contains("schedule") ||
         (about != document.end() && about->is_string() &&
          contains(about->get_ref<const std::string&>(), "written by penstock "));
}

}  // namespace

bool is_own_file(const std::string& path) {
  try {
    const std::string head = head_of(path);
    if (contains(head, own_mark) || contains(tail_of(path), own_mark)) return true;
    return is_own_beginning(head) || (head.starts_with('{') && is_own_json(path));
  } catch (const InputError&) {
    return false;  // no format of ours
  }
}

void check_replaced(const std::string& path, Existing replaced) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error) && fs::file_size(path, error) > 0;
  if (replaced == Existing::any || !is_file || is_own_file(path)) return;
  throw UsageError(fmt::format(
      "{}: it exists, and nothing in it says that Penstock wrote it; give another name, "
      "or --force to overwrite it",
      path));
}

}  // namespace penstock
