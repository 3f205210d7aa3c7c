#include "experiments/plan/sweeps/result_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/plan/sweeps/sweep_result.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Says why a row does not belong at its place of a file.
[[noreturn]] void refuse_row(const std::string& path, std::uint64_t place, std::string_view row,
                             const std::string& expected) {
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
  throw refused_file(path, fmt::format("line {} is configuration {}, expected {}: the file is of "
                                       "another shard; give another -o",
                                       place + 1, found->item, wanted.item));
}

bool is_of_disk(int reason) {
  return reason == ENOSPC || reason == EDQUOT || reason == EIO || reason == EFBIG;
}

}  // namespace

ResultLog::ResultLog(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) throw UsageError(fmt::format("{}: cannot write: {}", path_, std::strerror(errno)));
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(file_);
  if (reason == EWOULDBLOCK) {
    throw UsageError(
        fmt::format("{}: another process is writing this file; wait for it, or give "
                    "another -o",
                    path_));
  }
  throw UsageError(fmt::format("{}: cannot lock: {}", path_, std::strerror(reason)));
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
    ++found.rows;
    size_ += row->size() + 1;
  }
  if (reader.torn().empty()) return found;
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
      const std::size_t whole = done.rfind('\n') + 1;  // npos + 1 is 0
      size_ += whole;
      appended_ += static_cast<std::uint64_t>(std::count(done.begin(), done.end(), '\n'));
      fail(reason);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += rows.size();
  appended_ += static_cast<std::uint64_t>(std::count(rows.begin(), rows.end(), '\n'));
}

void ResultLog::fail(int reason) {
  // If this fails too, the next start repairs the last line.
  [[maybe_unused]] const int ignored = ::ftruncate(file_, static_cast<off_t>(size_));
  const std::string text = fmt::format(
      "{}: cannot write: {}; all rows up to here are kept, and the same command goes on "
      "from there",
      path_, std::strerror(reason));
  if (is_of_disk(reason)) throw std::runtime_error(text);
  throw UsageError(text);
}

}  // namespace penstock
