#include "sim/timeline/large_timeline.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/timeline/timeline_columns.hpp"

namespace penstock {
namespace {

template <class Element>
constexpr std::size_t size_of_all(std::uint64_t count) {
  return padded(static_cast<std::size_t>(count) * sizeof(Element));
}

std::size_t element_bytes(std::string_view type) {
  return type == "u8" ? 1 : type == "u32" ? 4 : 8;
}

[[noreturn]] void refuse_task(std::uint64_t task, std::string_view what) {
  throw InputError(fmt::format("task {}: {}", task, what));
}

/// What a plan guarantees of each of some tasks.
void check_tasks(const Recording& part, std::uint64_t first) {
  const Plan& plan = part.plan;
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (plan.work[task] >= plan.classes.size()) refuse_task(first + task, "no such work class");
    const Time begin = part.timeline.begin[task];
    if (begin < Time{} || part.timeline.end[task] < begin || part.timeline.end[task] >= max_time) {
      refuse_task(first + task, "it ends before it begins, or the clock does");
    }
  }
}

}  // namespace

LargeTimeline::LargeTimeline(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
  struct stat facts {};
  if (file_ == nullptr || fstat(fileno(file_.get()), &facts) != 0) {
    throw InputError("cannot be read");
  }
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
  read_head();
}

void LargeTimeline::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  char* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(fileno(file_.get()), next, bytes, static_cast<off_t>(offset));
    if (got <= 0) throw InputError("truncated, or it cannot be read");
    next += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

void LargeTimeline::read_head() {
  TimelineFileHeader header{};
  read_at(0, &header, sizeof header);
  check_header(header);
  if (header.version != overview_version) throw InputError("it has no overview");
  if (bytes_ != header.bytes) {
    throw InputError(fmt::format("truncated: {} of {} bytes", bytes_, header.bytes));
  }
  TimelineChecksum sum;
  sum.add({reinterpret_cast<const char*>(&header), sizeof header});
  std::uint64_t at = sizeof header;
  const auto read = [&](std::string_view name, auto& column) {
    using Element = typename std::remove_cvref_t<decltype(column)>::value_type;
    SectionHeader section{};
    read_at(at, &section, sizeof section);
    const std::size_t count = count_in(section, name, type_name<Element>());
    at += sizeof section;
    if (size_of_all<Element>(count) > bytes_ - at) refuse_section(name, "the file ends within it");
    column.resize(count);
    read_at(at, column.data(), count * sizeof(Element));
    at += size_of_all<Element>(count);
    if (name == "head_checksum") return;
    sum.add({reinterpret_cast<const char*>(&section), sizeof section});
    sum.add(bytes_in(column));
  };
  TimelineColumns columns;
  for_each_head_section(columns, head_.plan, read);
  for_each_overview_section(columns_, read);
  read("head_checksum", columns_.head_checksum);
  if (columns_.head_checksum != std::vector<std::uint64_t>{sum.value()}) {
    throw InputError("corrupt: the checksum of its head does not match");
  }
  note_places(at);
  put_head_together(columns, head_.plan, head_.timeline);
  head_.title = std::move(columns.title);
  check_plan_head(head_.plan);
  overview_ = overview_from(columns_, head_.plan.ranks, tasks_);
  columns_.cell = {};
}

void LargeTimeline::note_places(std::uint64_t at) {
  while (at + sizeof(SectionHeader) < bytes_) {
    SectionHeader section{};
    read_at(at, &section, sizeof section);
    at += sizeof section;
    const std::size_t bytes = element_bytes(text_of(section.type));
    if (section.count >= Plan::several || padded(section.count * bytes) > bytes_ - at) {
      refuse_section(text_of(section.name), "the file ends within it");
    }
    const auto found = places_.find(text_of(section.name));
    if (found != places_.end()) found->second = {at, section.count};
    at += padded(section.count * bytes);
  }
  tasks_ = place("work").count;
  const auto check = [&](std::uint64_t count) {
    if (count != tasks_) throw InputError("columns of tasks have not the same length");
  };
  const TaskColumns none;
  for_each_block_column(none,
                        [&](std::string_view name, const auto&) { check(place(name).count); });
  for (const char* name : {"slowed", "memory_wait"}) {
    if (const std::uint64_t count = place(name).count; count != 0) check(count);
  }
}

std::pair<std::uint64_t, std::uint64_t> LargeTimeline::tasks_between(Time begin, Time end) const {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool any = false;
  for (std::size_t block = 0; block < columns_.block_begin.size(); ++block) {
    if (columns_.block_end[block] < begin || columns_.block_begin[block] > end) continue;
    if (!any) first = block;
    last = block;
    any = true;
  }
  if (!any) return {0, 0};
  return {first * tasks_per_block, std::min(tasks_, (last + 1) * tasks_per_block)};
}

template <class Column>
void LargeTimeline::read_column(std::string_view name, std::uint64_t first, std::uint64_t end,
                                Column& column) const {
  using Element = typename Column::value_type;
  column.resize(end - first);
  read_at(place(name).offset + first * sizeof(Element), column.data(),
          column.size() * sizeof(Element));
}

Recording LargeTimeline::part(std::uint64_t first, std::uint64_t end) const {
  Recording part = head_;
  for (std::uint64_t block = first / tasks_per_block; block * tasks_per_block < end; ++block) {
    add_block(block, part);
  }
  read_optional(first, end, part);
  check_tasks(part, first);
  set_inputs(first, part);
  part.plan.in_one_order.assign(part.plan.links.size(), true);
  return part;
}

void LargeTimeline::add_block(std::uint64_t block, Recording& part) const {
  TaskColumns columns;
  const std::uint64_t first = block * tasks_per_block;
  const std::uint64_t end = std::min(tasks_, first + tasks_per_block);
  for_each_block_column(
      columns, [&](std::string_view name, auto& column) { read_column(name, first, end, column); });
  if (checksum_of(columns) != columns_.block_checksum[block]) {
    refuse_task(first, "corrupt: the checksum of its block does not match");
  }
  const auto add = [](const auto& from, auto& to) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(columns.work, part.plan.work);
  add(columns.microbatch, part.plan.microbatch);
  add(columns.input, part.plan.input);
  add(columns.begin, part.timeline.begin);
  add(columns.end, part.timeline.end);
  add(columns.last_input, part.timeline.last_input);
}

void LargeTimeline::read_optional(std::uint64_t first, std::uint64_t end, Recording& part) const {
  const auto read = [&](std::string_view name, auto& column) {
    if (place(name).count > 0) read_column(name, first, end, column);
  };
  read("slowed", part.timeline.slowed);
  read("memory_wait", part.timeline.memory_wait);
  std::vector<std::uint32_t> followers;
  read_column("followers", 0, place("followers").count, followers);
  for (const std::uint32_t follower : followers) {
    if (follower >= first && follower < end) {
      part.plan.followers.push_back(static_cast<TaskId>(follower - first));
    }
  }
}

/// Numbers inputs as the part does.
void LargeTimeline::set_inputs(std::uint64_t first, Recording& part) const {
  Plan& plan = part.plan;
  const std::uint64_t inputs = place("inputs").count;
  const auto here = [&](TaskId task, std::uint64_t reader) {
    if (task >= reader) refuse_task(reader, "an input does not precede it");
    return task < first ? no_task : static_cast<TaskId>(task - first);
  };
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    TaskId& last = part.timeline.last_input[task];
    if (last != no_task) last = here(last, first + task);
    TaskId& input = plan.input[task];
    if (input == no_task) continue;
    if ((input & Plan::several) == 0) {
      input = here(input, first + task);
      continue;
    }
    const std::uint64_t at = input & ~Plan::several;
    std::vector<std::uint32_t> list;
    if (at >= inputs) refuse_task(first + task, "no such list of inputs");
    read_column("inputs", at, at + 1, list);
    if (list[0] >= inputs - at) refuse_task(first + task, "its list of inputs has no end");
    read_column("inputs", at + 1, at + 1 + list[0], list);
    std::erase_if(list, [&](TaskId& each) { return (each = here(each, first + task)) == no_task; });
    input = add_inputs(plan, list);
  }
}

bool is_large_timeline(const std::string& path, std::uint64_t tasks) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  TimelineFileHeader header{};
  if (file == nullptr || std::fread(&header, sizeof header, 1, file.get()) != 1) return false;
  // Each task takes 32 bytes at least.
  return header.magic == timeline_magic && header.version == overview_version &&
         header.bytes / 32 > tasks;
}

}  // namespace penstock
