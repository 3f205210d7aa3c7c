#include "experiments/plan/sweeps/result_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "experiments/plan/sweeps/configured.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Says why a row does not belong at its place of a file.
[[noreturn]] void refuse_row(const std::string& path, std::uint64_t place, std::string_view row,
                             const std::string& expected) {
  if (row.ends_with('\r')) {
    throw refused_file(path, fmt::format("line {} ends in CRLF, and rows end in LF; save it so, or "
                                         "give another -o",
                                         place + 1));
  }
  const auto found = label_of_row(row);
  if (!found) {
    throw refused_file(path,
                       fmt::format("line {} is no row of a sweep; give another -o", place + 1));
  }
  if (expected.empty()) {
    throw refused_file(path, fmt::format("line {} is behind the last configuration", place + 1));
  }
  const RowLabel wanted = *label_of_row(expected + "}");
  if (found->version != wanted.version) {
    throw refused_file(path, fmt::format("its rows are of penstock {}, this is {}; give another -o",
                                         found->version, wanted.version));
  }
  if (found->sweep != wanted.sweep) {
    throw refused_file(
        path, fmt::format("its rows are of the sweep {}, this is {}; give another -o", found->sweep,
                          wanted.sweep));
  }
  throw refused_file(
      path,
      fmt::format(
          "line {} is configuration {}, expected {}: the file is of another shard; give that as "
          "--shard I/N, or another -o",
          place + 1, found->item, wanted.item));
}

bool is_of_disk(int reason) {
  return reason == ENOSPC || reason == EDQUOT || reason == EIO || reason == EFBIG;
}

/// Whether rows can be read back from it: a pipe would wait for its own.
bool is_regular(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool begins_with_row(const std::string& path) {
  RowLines lines(path);
  const auto row = lines.next();
  return row && label_of_row(*row);
}

/// A file with its row at hand.
struct Source {
  std::unique_ptr<RowLines> reader;
  std::uint64_t line = 0;
  std::optional<std::string_view> row;
  RowLabel label;
};

[[noreturn]] void refuse(const Source& source, const std::string& what) {
  throw refused_file(source.reader->path(), what);
}

/// Checks a row against those before it, of its own file and of others.
void check_label(const Source& source, const std::optional<RowLabel>& before, const RowLabel& now,
                 bool same_file) {
  if (!before) return;
  if (before->version != now.version) {
    refuse(source, fmt::format("line {} is of penstock {}, others are of {}", source.line,
                               now.version, before->version));
  }
  if (before->sweep != now.sweep || before->of != now.of) {
    refuse(source, fmt::format("line {} is of the sweep {}, others are of {}", source.line,
                               now.sweep, before->sweep));
  }
  if (same_file && now.item <= before->item) {
    refuse(source, fmt::format("line {} is configuration {}, behind {}", source.line, now.item,
                               before->item));
  }
}

void advance(Source& source) {
  const bool first = !source.row;
  source.row = source.reader->next();
  ++source.line;
  if (!source.row) return;
  const auto label = label_of_row(*source.row);
  if (!label) refuse(source, fmt::format("line {} is no row of a sweep", source.line));
  if (!first) check_label(source, source.label, *label, true);
  source.label = *label;
}

std::vector<Source> open_sources(const std::vector<std::string>& shards) {
  std::vector<Source> sources;
  std::optional<RowLabel> first;
  for (const std::string& path : shards) {
    Source& source = sources.emplace_back();
    source.reader = std::make_unique<RowLines>(path);
    advance(source);
    if (!source.row) continue;
    check_label(source, first, source.label, false);
    if (!first) first = source.label;
  }
  if (!first) throw refused_file(shards.front(), "there is no row in it, nor in the other files");
  return sources;
}

/// The row of a configuration from whichever file has it; nothing if none has. Moves on the files
/// that have it.
std::optional<std::string> take_row(std::vector<Source>& sources, std::uint64_t item) {
  std::optional<std::string> row;
  for (Source& source : sources) {
    if (!source.row || source.label.item != item) continue;
    if (row && *row != *source.row) {
      refuse(source, fmt::format("configuration {} differs from that of another file", item));
    }
    row = std::string(*source.row);
    advance(source);
  }
  return row;
}

std::uint64_t count_of(const std::vector<Source>& sources) {
  for (const Source& source : sources) {
    if (source.row) return source.label.of;
  }
  return 0;
}

}  // namespace

ResultLog::ResultLog(std::string path, Existing replaced) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) throw UsageError(fmt::format("{}: cannot write: {}", path_, std::strerror(errno)));
  if (!is_regular(file_)) {
    ::close(file_);
    throw UsageError(fmt::format(
        "{}: it is a pipe or a device, and rows go into a file; -o - prints them", path_));
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    ::close(file_);
    if (reason == EWOULDBLOCK) {
      throw UsageError(fmt::format(
          "{}: another process is writing this file; wait for it, or give another -o", path_));
    }
    throw UsageError(fmt::format("{}: cannot lock: {}", path_, std::strerror(reason)));
  }
  if (replaced == Existing::any && !begins_with_row(path_) && ::ftruncate(file_, 0) != 0) {
    fail(errno);
  }
}

ResultLog::~ResultLog() { ::close(file_); }

ResumedRows ResultLog::resume(const ExpectedRow& expected) {
  ResumedRows found;
  RowLines reader(path_);
  while (const auto row = reader.next()) {
    const std::string wanted = expected(found.rows);
    const bool fits = !wanted.empty() && row->starts_with(wanted) && row->ends_with('}');
    if (!fits) refuse_row(path_, found.rows, *row, wanted);
    if (has_result(*row)) ++found.with_result;
    if (lacks_memory(*row)) ++found.without_memory;
    ++found.rows;
    size_ += row->size() + 1;
  }
  const std::string_view torn = reader.torn();
  if (torn.empty()) return found;
  const std::string wanted = expected(found.rows);
  const bool begun = !wanted.empty() && (torn.starts_with(wanted) || wanted.starts_with(torn));
  if (!begun) refuse_row(path_, found.rows, torn, wanted);  // what else ends without a newline
  found.repaired = true;
  if (::ftruncate(file_, static_cast<off_t>(size_)) != 0) fail(errno);
  return found;
}

void ResultLog::append(std::string_view rows) {
  std::string_view rest = rows;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int reason = errno;
      // Whole rows stay.
      const std::string_view done = rows.substr(0, rows.size() - rest.size());
      size_ += done.rfind('\n') + 1;  // npos + 1 is 0
      fail(reason);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += rows.size();
}

void ResultLog::fail(int reason) {
  // If this fails too, the next start repairs the last line.
  [[maybe_unused]] const int ignored = ::ftruncate(file_, static_cast<off_t>(size_));
  const std::string text = fmt::format(
      "{}: cannot write: {}; all rows up to here are kept, and the same command goes on from there",
      path_, std::strerror(reason));
  if (is_of_disk(reason)) throw std::runtime_error(text);
  throw UsageError(text);
}

MergedRows merge_rows(const std::vector<std::string>& shards, const std::string& output,
                      Existing replaced) {
  std::vector<Source> sources = open_sources(shards);
  const std::uint64_t count = count_of(sources);
  OutputFile file(output, replaced);
  MergedRows merged;
  for (std::uint64_t item = 0; item < count; ++item) {
    const auto row = take_row(sources, item);
    if (!row) {
      throw InputError(
          fmt::format("configuration {} of {} is in none of the files; run the shard that has it "
                      "to its end first",
                      item, count));
    }
    file.write(*row + '\n');
    if (has_result(*row)) ++merged.with_result;
    ++merged.rows;
  }
  file.publish();
  return merged;
}

}  // namespace penstock
