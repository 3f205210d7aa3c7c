#include "experiments/input/formats/traces/nsys_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/input/files/files.hpp"
#include "experiments/input/files/plain_text.hpp"
#include "sim/base/error.hpp"
#include "validate/store/database.hpp"

namespace penstock {
namespace {

constexpr std::string_view kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view graphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";  // launched as a whole
constexpr std::string_view copies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view fills = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view launches = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view ranges = "NVTX_EVENTS";
constexpr std::string_view strings = "StringIds";

/// What is read of a table, with blanks between the columns.
struct ReadTable {
  std::string_view name;
  std::string_view columns;
};
constexpr std::string_view work_columns = "start end correlationId deviceId streamId globalPid";
constexpr std::array<ReadTable, 8> read_tables{
    {{strings, "value id"},
     {kernels, work_columns},
     {kernels, "shortName"},
     {graphs, work_columns},
     {copies, work_columns},
     {fills, work_columns},
     {launches, "start correlationId globalTid"},
     {ranges, "start end text textId eventType globalTid"}}};

/// An open export.
class NsysFile {
 public:
  explicit NsysFile(const std::string& path) : database_(path, Database::Access::read_unchanging) {}

  bool has(std::string_view table) const {
    Statement found(database_, "SELECT 1 FROM sqlite_master WHERE name = ?");
    return found.with(table).next();
  }
  bool has(std::string_view table, std::string_view column) const {
    Statement found(database_, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?");
    return found.with(table, column).next();
  }
  /// Throws InputError for a table without a column that is read. Only names must be there.
  void require_columns() const {
    for (const ReadTable& table : read_tables) {
      if (table.name != strings && !has(table.name)) continue;
      for (std::string_view rest = table.columns; !rest.empty();) {
        const std::string_view column = take_until(rest, ' ');
        if (has(table.name, column)) continue;
        throw InputError(std::string(table.name),
                         fmt::format("the export lacks this table or its column \"{}\"; `nsys "
                                     "export --type sqlite` of the report writes both",
                                     column));
      }
    }
  }
  Statement query(const std::string& sql) const { return Statement(database_, sql); }
  /// A column of the first row of a table; nothing where one of them is missing.
  Statement first_of(std::string_view table, std::string_view column) const {
    return query(has(table, column) ? fmt::format("SELECT {} FROM {} LIMIT 1", column, table)
                                    : "SELECT NULL");
  }

 private:
  Database database_;
};

/// Numbers of names, as they come.
class Numbers {
 public:
  explicit Numbers(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t of(const std::string& name) {
    if (numbers_.size() >= KinetoLimits::names) throw InputError("too many different names");
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size()));
    if (is_new) names_.push_back(name.substr(0, KinetoLimits::name_bytes));
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

/// Reads what a process did. Nsight Systems numbers processes and threads in one: the thread is in
/// the lowest 24 bits, the process above it.
class ProcessReader {
 public:
  ProcessReader(const NsysFile& file, std::int64_t process, KinetoTrace& trace)
      : file_(file),
        process_(process),
        trace_(trace),
        lanes_(trace.lanes),
        names_(trace.names),
        work_names_(trace.work_names) {}

  void read() {
    read_facts();
    read_works(kernels, "(SELECT value FROM StringIds WHERE id = shortName)", true);
    read_works(graphs, "'CUDA graph'", true);
    read_works(copies, "'memcpy'", false);
    read_works(fills, "'memset'", false);
    read_launches();
    read_ranges();
    trace_.events = trace_.works.size() + trace_.launches.size() + trace_.annotations.size();
  }

 private:
  void read_works(std::string_view table, std::string_view name, bool are_kernels) {
    if (!file_.has(table)) return;
    Statement rows = file_.query(fmt::format(
        "SELECT start, end, rowid, correlationId, deviceId, streamId, {} FROM {} WHERE globalPid = "
        "?",
        name, table));
    rows.with(process_);
    while (rows.next()) {
      const std::string own = rows.text(6).value_or("kernel");
      const std::uint32_t lane = lanes_.of(stream_of(whole(rows, 4), whole(rows, 5)));
      const KinetoWorkKind kind = are_kernels ? kernel_kind(own, "") : KinetoWorkKind::copy;
      add(trace_.works, KinetoWork{span(rows, table), static_cast<std::uint64_t>(whole(rows, 3)),
                                   lane, kind, work_names_.of(own)});
    }
  }
  void read_launches() {
    if (!file_.has(launches)) return;
    Statement rows = file_.query(fmt::format(
        "SELECT start, correlationId, globalTid FROM {} WHERE {}", launches, of_process));
    rows.with(process_);
    while (rows.next()) {
      add(trace_.launches, KinetoLaunch{whole(rows, 0), static_cast<std::uint64_t>(whole(rows, 1)),
                                        thread(rows, 2)});
    }
  }
  /// Ranges that are pushed and popped (59), or started and ended (60).
  void read_ranges() {
    if (!file_.has(ranges)) return;
    Statement rows = file_.query(fmt::format(
        "SELECT start, end, rowid, globalTid, coalesce(text, (SELECT value FROM StringIds WHERE id "
        "= textId)) FROM {} WHERE eventType IN (59, 60) AND end IS NOT NULL AND {}",
        ranges, of_process));
    rows.with(process_);
    while (rows.next()) {
      const std::uint32_t name = names_.of(rows.text(4).value_or(""));
      trace_.keep({span(rows, ranges), name, thread(rows, 3), false});
    }
  }
  void read_facts() {
    for (const char* table : {"TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"}) {
      Statement device = file_.first_of(table, "name");
      if (trace_.device.empty() && device.next()) trace_.device = device.text(0).value_or("");
    }
    Statement start = file_.first_of("TARGET_INFO_SESSION_START_TIME", "utcEpochNs");
    if (start.next()) trace_.base_ns = start.whole(0).value_or(0);
    if (trace_.base_ns < 0 || trace_.base_ns > KinetoLimits::time_ns) {
      throw InputError("TARGET_INFO_SESSION_START_TIME",
                       fmt::format("utcEpochNs {}: a whole number from 0 to {} is needed",
                                   trace_.base_ns, KinetoLimits::time_ns));
    }
  }

  static constexpr std::string_view of_process = "globalTid / 16777216 * 16777216 = ?";

  /// A process has one GPU as a rule, which needs no name.
  std::string stream_of(std::int64_t device, std::int64_t stream) {
    if (!device_) device_ = device;
    return device == *device_ ? fmt::format("stream {}", stream)
                              : fmt::format("GPU {} stream {}", device, stream);
  }
  std::int64_t whole(const Statement& rows, int column) const {
    return rows.whole(column).value_or(0);
  }
  std::uint32_t thread(const Statement& rows, int column) {
    return lanes_.of(fmt::format("thread {}", whole(rows, column) % (1 << 24)));
  }
  KinetoSpan span(const Statement& rows, std::string_view table) const {
    const KinetoSpan span{whole(rows, 0), whole(rows, 1)};
    const bool sound = span.begin_ns >= 0 && span.end_ns >= span.begin_ns &&
                       span.end_ns <= KinetoLimits::time_ns - trace_.base_ns;
    if (sound) return span;
    throw InputError(
        std::string(table),
        fmt::format("row {} lasts from {} to {} ns; an event ends after it begins, begins at 0 or "
                    "later, and ends no later than {} ns after 1970",
                    whole(rows, 2), span.begin_ns, span.end_ns, KinetoLimits::time_ns));
  }
  template <class List, class Event>
  void add(List& list, const Event& event) {
    if (list.size() >= KinetoLimits::kept_events) {
      throw InputError(fmt::format("more than {} events of one kind; trace fewer steps",
                                   KinetoLimits::kept_events));
    }
    list.push_back(event);
  }

  const NsysFile& file_;
  std::int64_t process_;
  KinetoTrace& trace_;
  Numbers lanes_, names_, work_names_;
  std::optional<std::int64_t> device_;  // of its first kernel
};

/// Runs a step on a file, with its faults as those of an input.
template <class Step>
auto reading(const std::string& path, Step step) {
  try {
    const NsysFile file(path);
    if (!file.has(kernels) && !file.has(graphs)) {
      throw InputError(
          "a database without CUDA kernels; `nsys profile --trace cuda,nvtx` and `nsys export "
          "--type sqlite` write one that has them");
    }
    file.require_columns();
    return step(file);
  } catch (const DatabaseError& error) {
    throw in_file(path, InputError(error.what()));
  } catch (const InputError& error) {
    throw in_file(path, error);
  }
}

/// "report.sqlite#123": file and process.
std::pair<std::string, std::optional<std::int64_t>> split(const std::string& path) {
  const std::size_t mark = path.rfind('#');
  if (mark == std::string::npos) return {path, std::nullopt};
  const auto process = whole_number<std::int64_t>(std::string_view(path).substr(mark + 1));
  if (!process) return {path, std::nullopt};
  return {path.substr(0, mark), process};
}

bool is_nsys_file(const std::string& path) {
  std::string start(16, '\0');
  const InputFile file(std::fopen(path.c_str(), "rb"));
  return file != nullptr && std::fread(start.data(), 1, start.size(), file.get()) == start.size() &&
         is_nsys(start);
}

std::int64_t process_number(std::int64_t global) { return global >> 24 & 0xff'ffff; }

std::vector<std::int64_t> processes_in(const NsysFile& file) {
  std::set<std::int64_t> all;
  for (const std::string_view table : {kernels, graphs}) {
    if (!file.has(table)) continue;
    Statement rows = file.query(fmt::format("SELECT DISTINCT globalPid FROM {}", table));
    while (rows.next()) all.insert(rows.whole(0).value_or(0));
  }
  return {all.begin(), all.end()};
}

}  // namespace

bool is_nsys(std::string_view beginning) { return beginning.starts_with("SQLite format 3"); }

std::vector<std::string> traces_in(const std::string& path) {
  if (!is_nsys_file(path)) return {path};
  return reading(path, [&](const NsysFile& file) {
    std::vector<std::string> all;
    for (const std::int64_t process : processes_in(file)) {
      all.push_back(fmt::format("{}#{}", path, process_number(process)));
    }
    return all;
  });
}

KinetoTrace read_trace(const std::string& path, const std::function<void(double)>& on_block) {
  const auto [name, wanted] = split(path);
  if (!is_nsys_file(name)) return read_kineto(path, on_block);
  if (on_block) on_block(0);
  return reading(name, [&, number = wanted](const NsysFile& file) {
    const std::vector<std::int64_t> processes = processes_in(file);
    KinetoTrace trace{.source = path, .among_others = processes.size() > 1};
    for (const std::int64_t process : processes) {
      if (number && process_number(process) != *number) continue;
      ProcessReader(file, process, trace).read();
      return trace;
    }
    throw InputError("no process of this number ran kernels");
  });
}

}  // namespace penstock
