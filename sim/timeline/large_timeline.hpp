#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sim/timeline/timeline_file.hpp"
#include "sim/timeline/timeline_sections.hpp"

namespace penstock {

/// A `.timeline` file with an overview, of which parts are read as they are needed. Reading checks
/// whatever it reads; the file must not change meanwhile.
class LargeTimeline {
 public:
  /// Reads all but the tasks. Throws InputError for files without an overview, and as
  /// `read_timeline` does.
  explicit LargeTimeline(const std::string& path);

  /// Without tasks.
  const Recording& head() const { return head_; }
  const TimelineOverview& overview() const { return overview_; }
  std::uint64_t tasks() const { return tasks_; }

  /// The blocks with tasks between two moments, as first and end of tasks.
  std::pair<std::uint64_t, std::uint64_t> tasks_between(Time begin, Time end) const;
  /// Some tasks as a recording of their own, numbered from 0; `first` and `end` are those of
  /// blocks. Inputs that lie before them are none. Throws InputError for a corrupt file.
  Recording part(std::uint64_t first, std::uint64_t end) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  /// Where a column stands.
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
  };

  void read_head();
  void note_places(std::uint64_t at);
  void read_at(std::uint64_t offset, void* to, std::size_t bytes) const;
  template <class Column>
  void read_column(std::string_view name, std::uint64_t first, std::uint64_t end,
                   Column& column) const;
  const Place& place(std::string_view section) const { return places_.at(section); }
  void add_block(std::uint64_t block, Recording& part) const;
  void set_inputs(std::uint64_t first, Recording& part) const;
  void read_optional(std::uint64_t first, std::uint64_t end, Recording& part) const;

  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t bytes_ = 0;
  Recording head_;
  TimelineOverview overview_;
  OverviewColumns columns_;
  std::uint64_t tasks_ = 0;
  // By section; empty where the file has none.
  std::map<std::string_view, Place> places_{
      {"work", {}},  {"microbatch", {}}, {"input", {}},      {"inputs", {}}, {"followers", {}},
      {"begin", {}}, {"end", {}},        {"last_input", {}}, {"slowed", {}}, {"memory_wait", {}}};
};

/// Whether a file is one that `LargeTimeline` reads, of more tasks than this.
bool is_large_timeline(const std::string& path, std::uint64_t tasks);

}  // namespace penstock
