#include "sim/timeline/timeline_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "sim/base/error.hpp"
#include "sim/timeline/timeline_columns.hpp"

namespace penstock {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are copied as they are");
static_assert(sizeof(Time) == 8 && std::is_trivially_copyable_v<Time>);

constexpr std::uint64_t format_version = 2;
constexpr std::array<char, 8> magic{'P', 'E', 'N', 'S', 'T', 'O', 'C', 'K'};

struct FileHeader {
  std::array<char, 8> magic;
  std::uint64_t version;
  std::uint64_t bytes;
};
struct SectionHeader {
  std::array<char, 24> name;
  std::array<char, 8> type;
  std::uint64_t count;
};
static_assert(sizeof(FileHeader) == 24 && sizeof(SectionHeader) == 40);

template <class Element>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<Element, Time>) return "i64";
  if constexpr (sizeof(Element) == 8) return "u64";
  return sizeof(Element) == 4 ? "u32" : "u8";
}

/// The text as a fixed-size header field, padded with zeros.
template <std::size_t size>
std::array<char, size> field(std::string_view text) {
  std::array<char, size> bytes{};
  text.copy(bytes.data(), size);
  return bytes;
}

template <std::size_t size>
std::string_view text_of(const std::array<char, size>& field) {
  const std::string_view bytes(field.data(), size);
  return bytes.substr(0, bytes.find('\0'));
}

constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    hash = (hash ^ word) * 0x100000001b3U;
    hash ^= hash >> 32;
  }
  return hash;
}

template <class Column>
std::size_t bytes_of(const Column& column) {
  return column.size() * sizeof(typename Column::value_type);
}

class Writer {
 public:
  explicit Writer(const FileHeader& header) {
    text_.reserve(header.bytes);
    append(&header, sizeof header);
  }
  template <class Column>
  void operator()(std::string_view name, const Column& column) {
    const SectionHeader header{field<24>(name), field<8>(type_name<typename Column::value_type>()),
                               column.size()};
    append(&header, sizeof header);
    append(column.data(), bytes_of(column));
    text_.resize(padded(text_.size()));
  }
  std::string finish() {
    const std::uint64_t sum = checksum(text_);
    append(&sum, sizeof sum);
    return std::move(text_);
  }

 private:
  void append(const void* bytes, std::size_t size) {
    text_.append(static_cast<const char*>(bytes), size);
  }

  std::string text_;
};

/// Reads the sections of a file, which is known to be complete.
class Reader {
 public:
  explicit Reader(std::string_view sections) : rest_(sections) {}

  template <class Column>
  void operator()(std::string_view name, Column& column) {
    using Element = typename Column::value_type;
    const std::size_t count = take_header(name, type_name<Element>());
    // Checked before anything is allocated.
    const std::string_view bytes = take(name, padded(count * sizeof(Element)));
    column.resize(count);
    bytes.copy(static_cast<char*>(static_cast<void*>(column.data())), bytes_of(column));
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
  std::size_t take_header(std::string_view name, std::string_view type);

  std::string_view rest_;
};

/// The number of elements of the next section, which must have this name and type.
std::size_t Reader::take_header(std::string_view name, std::string_view type) {
  SectionHeader header{};
  std::memcpy(&header, take(name, sizeof header).data(), sizeof header);
  if (header.name != field<24>(name)) {
    refuse_section(text_of(header.name), fmt::format("unexpected here; expected {}", name));
  }
  if (header.type != field<8>(type)) {
    refuse_section(name, fmt::format("its elements must be of type {}", type));
  }
  if (header.count >= Plan::several) {
    refuse_section(name, fmt::format("too many elements, {}", header.count));
  }
  return header.count;
}

/// The sections of a file with an intact frame.
std::string_view sections_of(std::string_view bytes) {
  FileHeader header{};
  constexpr std::size_t least = sizeof header + sizeof(std::uint64_t);
  bytes.copy(header.magic.data(), magic.size());
  if (header.magic != magic) throw InputError("not a timeline file");
  if (bytes.size() < least) throw InputError("truncated within its header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != format_version) {
    throw InputError(fmt::format("format version {}; this program reads version {}", header.version,
                                 format_version));
  }
  if (bytes.size() < header.bytes) {
    throw InputError(fmt::format("truncated: {} of {} bytes", bytes.size(), header.bytes));
  }
  if (bytes.size() > header.bytes || bytes.size() % sizeof(std::uint64_t) != 0) {
    throw InputError(fmt::format("{} bytes; its header says {}", bytes.size(), header.bytes));
  }
  const std::string_view summed = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + summed.size(), sizeof sum);
  if (sum != checksum(summed)) throw InputError("corrupt: its checksum does not match");
  return summed.substr(sizeof header);
}

}  // namespace

std::string write_timeline(const Plan& plan, const Timeline& timeline, std::string_view title) {
  const TimelineColumns columns = take_apart(plan, timeline, title);
  FileHeader header{magic, format_version, sizeof header + sizeof(std::uint64_t)};
  for_each_section(columns, plan, timeline, [&](std::string_view, const auto& column) {
    header.bytes += sizeof(SectionHeader) + padded(bytes_of(column));
  });
  Writer writer(header);
  for_each_section(columns, plan, timeline, writer);
  return writer.finish();
}

Recording read_timeline(std::string_view bytes) {
  Recording recording;
  TimelineColumns columns;
  Reader reader(sections_of(bytes));
  for_each_section(columns, recording.plan, recording.timeline, reader);
  reader.finish();
  put_together(columns, recording.plan, recording.timeline);
  recording.title = std::move(columns.title);
  check_plan(recording.plan);
  recording.plan.in_one_order = links_in_one_order(recording.plan);
  check_timeline(recording.plan, recording.timeline);
  return recording;
}

}  // namespace penstock
