#include "sim/timeline/timeline_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/timeline/timeline_columns.hpp"
#include "sim/timeline/timeline_sections.hpp"

namespace penstock {
namespace {

/// Writes sections one after the other, with their checksum.
class Writer {
 public:
  Writer(const TimelineFileHeader& header, const std::function<void(std::string_view)>& write)
      : write_(write) {
    append({reinterpret_cast<const char*>(&header), sizeof header});
  }
  template <class Column>
  void operator()(std::string_view name, const Column& column) {
    begin<typename Column::value_type>(name, column.size());
    append(bytes_in(column));
    end();
  }
  template <class Element>
  void begin(std::string_view name, std::size_t count) {
    const SectionHeader header{field<24>(name), field<8>(type_name<Element>()), count};
    append({reinterpret_cast<const char*>(&header), sizeof header});
  }
  /// Of a section, pieces of whole words but for the last.
  void append(std::string_view bytes) {
    sum_.add(bytes);
    write_(bytes);
    loose_ = (loose_ + bytes.size()) % sizeof(std::uint64_t);
  }
  void end() {
    const std::string_view zeros("\0\0\0\0\0\0\0", 7);
    if (loose_ > 0) write_(zeros.substr(0, sizeof(std::uint64_t) - loose_));
    loose_ = 0;
  }
  std::uint64_t sum() const { return sum_.value(); }

 private:
  const std::function<void(std::string_view)>& write_;
  TimelineChecksum sum_;
  std::size_t loose_ = 0;  // bytes behind the last whole word
};

/// Reads the sections of a file, which is known to be complete.
class Reader {
 public:
  explicit Reader(std::string_view sections) : rest_(sections) {}

  template <class Column>
  void operator()(std::string_view name, Column& column) {
    using Element = typename Column::value_type;
    SectionHeader header{};
    std::memcpy(&header, take(name, sizeof header).data(), sizeof header);
    const std::size_t count = count_in(header, name, type_name<Element>());
    // Checked before anything is allocated.
    const std::string_view bytes = take(name, padded(count * sizeof(Element)));
    column.resize(count);
    bytes.copy(static_cast<char*>(static_cast<void*>(column.data())), count * sizeof(Element));
  }
  void finish() {
    if (rest_.empty()) return;
    SectionHeader header{};
    std::memcpy(&header, take("after the last", sizeof header).data(), sizeof header);
    refuse_section(text_of(header.name), "unknown section");
  }

 private:
  std::string_view take(std::string_view name, std::size_t bytes) {
    if (bytes > rest_.size()) refuse_section(name, "the file ends within it");
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
};

/// The sections of a file with an intact frame.
std::string_view sections_of(std::string_view bytes, TimelineFileHeader& header) {
  constexpr std::size_t least = sizeof header + sizeof(std::uint64_t);
  bytes.copy(header.magic.data(), header.magic.size());
  if (header.magic != timeline_magic) throw InputError("not a timeline file");
  if (bytes.size() < least) throw InputError("truncated within its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  check_header(header);
  if (bytes.size() < header.bytes) {
    throw InputError(fmt::format("truncated: {} of {} bytes", bytes.size(), header.bytes));
  }
  if (bytes.size() > header.bytes || bytes.size() % sizeof(std::uint64_t) != 0) {
    throw InputError(fmt::format("{} bytes; its header says {}", bytes.size(), header.bytes));
  }
  const std::string_view summed = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + summed.size(), sizeof sum);
  TimelineChecksum own;
  own.add(summed);
  if (sum != own.value()) throw InputError("corrupt: its checksum does not match");
  return summed.substr(sizeof header);
}

/// What a block has of a section; nothing where the section is not in blocks.
std::optional<std::string_view> bytes_of(const TaskColumns& block, std::string_view section) {
  std::optional<std::string_view> bytes;
  for_each_block_column(block, [&](std::string_view name, const auto& column) {
    if (name == section) bytes = bytes_in(column);
  });
  return bytes;
}

/// What the columns of a plan's tasks have in a hash, in three passes.
std::uint64_t hash_of(const StreamedRecording& recording) {
  PlanHash hash(recording.plan);
  for (const auto column : {0, 1, 2}) {
    hash.add(recording.tasks);
    recording.for_each_block([&](const TaskColumns& block) {
      for (std::size_t i = 0; i < block.work.size(); ++i) {
        hash.add(column == 0   ? block.work[i]
                 : column == 1 ? static_cast<std::uint32_t>(block.microbatch[i])
                               : block.input[i]);
      }
    });
  }
  hash.add_all(recording.plan.inputs);
  return hash.value();
}

OverviewColumns overview_columns(const StreamedRecording& recording,
                                 const TimelineOverview& overview) {
  OverviewColumns columns;
  take_apart(overview, columns);
  recording.for_each_block([&](const TaskColumns& block) {
    Time begin = max_time;
    Time end{};
    for (std::size_t i = 0; i < block.begin.size(); ++i) {
      begin = std::min(begin, block.begin[i]);
      end = std::max(end, block.end[i]);
    }
    columns.block_begin.push_back(begin);
    columns.block_end.push_back(end);
    columns.block_checksum.push_back(checksum_of(block));
  });
  return columns;
}

}  // namespace

std::uint64_t checksum_of(const TaskColumns& block) {
  TimelineChecksum sum;
  for_each_block_column(
      block, [&](std::string_view /*section*/, const auto& column) { sum.add(bytes_in(column)); });
  return sum.value();
}

void write_timeline(const StreamedRecording& recording, const TimelineOverview& overview,
                    const std::function<void(std::string_view)>& write) {
  TimelineColumns columns = take_apart(recording.plan, recording.timeline, recording.title);
  columns.plan_hash = {hash_of(recording)};
  OverviewColumns seen = overview_columns(recording, overview);
  TimelineFileHeader header{timeline_magic, overview_version,
                            sizeof header + sizeof(std::uint64_t)};
  const auto count = [&](std::string_view name, const auto& column) {
    using Element = typename std::remove_cvref_t<decltype(column)>::value_type;
    const std::size_t size = bytes_of({}, name) ? recording.tasks : column.size();
    header.bytes += sizeof(SectionHeader) + padded(size * sizeof(Element));
  };
  seen.head_checksum.resize(1);
  for_each_head_section(columns, recording.plan, count);
  for_each_overview_section(seen, count);
  count("head_checksum", seen.head_checksum);
  for_each_task_section(columns, recording.plan, recording.timeline, count);
  Writer writer(header, write);
  for_each_head_section(columns, recording.plan, writer);
  for_each_overview_section(seen, writer);
  seen.head_checksum = {writer.sum()};
  writer("head_checksum", seen.head_checksum);
  for_each_task_section(
      columns, recording.plan, recording.timeline, [&](std::string_view name, const auto& column) {
        using Element = typename std::remove_cvref_t<decltype(column)>::value_type;
        if (!bytes_of({}, name)) return writer(name, column);
        writer.begin<Element>(name, recording.tasks);
        recording.for_each_block(
            [&](const TaskColumns& block) { writer.append(*bytes_of(block, name)); });
        writer.end();
      });
  const std::uint64_t sum = writer.sum();
  write({reinterpret_cast<const char*>(&sum), sizeof sum});
}

std::string write_timeline(const Plan& plan, const Timeline& timeline, std::string_view title,
                           const TimelineOverview& overview) {
  std::string text;
  const auto each_block = [&](const std::function<void(const TaskColumns&)>& visit) {
    for (std::uint32_t first = 0; first < plan.tasks(); first += tasks_per_block) {
      const std::uint32_t end = std::min(plan.tasks(), first + tasks_per_block);
      const auto part = [&](const auto& column) {
        return std::decay_t<decltype(column)>(column.begin() + first, column.begin() + end);
      };
      visit({part(plan.work), part(plan.microbatch), part(plan.input), part(timeline.begin),
             part(timeline.end), part(timeline.last_input)});
    }
  };
  write_timeline({plan, timeline, std::string(title), plan.tasks(), each_block}, overview,
                 [&](std::string_view piece) { text += piece; });
  return text;
}

std::string write_timeline(const Plan& plan, const Timeline& timeline, std::string_view title) {
  const TimelineColumns columns = take_apart(plan, timeline, title);
  TimelineFileHeader header{timeline_magic, whole_version, sizeof header + sizeof(std::uint64_t)};
  const auto count = [&](std::string_view, const auto& column) {
    header.bytes += sizeof(SectionHeader) + padded(bytes_in(column).size());
  };
  for_each_head_section(columns, plan, count);
  for_each_task_section(columns, plan, timeline, count);
  std::string text;
  text.reserve(header.bytes);
  const std::function<void(std::string_view)> write = [&](std::string_view piece) {
    text += piece;
  };
  Writer writer(header, write);
  for_each_head_section(columns, plan, writer);
  for_each_task_section(columns, plan, timeline, writer);
  const std::uint64_t sum = writer.sum();
  write({reinterpret_cast<const char*>(&sum), sizeof sum});
  return text;
}

Recording read_timeline(std::string_view bytes) {
  Recording recording;
  TimelineColumns columns;
  OverviewColumns seen;
  TimelineFileHeader header{};
  Reader reader(sections_of(bytes, header));
  for_each_head_section(columns, recording.plan, reader);
  if (header.version == overview_version) {
    for_each_overview_section(seen, reader);
    reader("head_checksum", seen.head_checksum);
  }
  for_each_task_section(columns, recording.plan, recording.timeline, reader);
  reader.finish();
  put_together(columns, recording.plan, recording.timeline);
  if (header.version == overview_version) {
    overview_from(seen, recording.plan.ranks, recording.plan.tasks());
  }
  recording.title = std::move(columns.title);
  check_plan(recording.plan);
  recording.plan.in_one_order = links_in_one_order(recording.plan);
  recording.plan.written = waits_beyond_makers(recording.plan);
  check_timeline(recording.plan, recording.timeline);
  return recording;
}

}  // namespace penstock
