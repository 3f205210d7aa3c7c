#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/timeline/timeline_overview.hpp"

namespace penstock {

// The frame of the `.timeline` format, for those that write and read it.

static_assert(std::endian::native == std::endian::little, "columns are copied as they are");
static_assert(sizeof(Time) == 8 && std::is_trivially_copyable_v<Time>);

constexpr std::uint64_t whole_version = 2;
constexpr std::uint64_t overview_version = 3;
constexpr std::array<char, 8> timeline_magic{'P', 'E', 'N', 'S', 'T', 'O', 'C', 'K'};

struct TimelineFileHeader {
  std::array<char, 8> magic;
  std::uint64_t version;
  std::uint64_t bytes;
};
struct SectionHeader {
  std::array<char, 24> name;
  std::array<char, 8> type;
  std::uint64_t count;
};
static_assert(sizeof(TimelineFileHeader) == 24 && sizeof(SectionHeader) == 40);

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

/// The checksum of the format, over bytes that come in pieces of whole words.
class TimelineChecksum {
 public:
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
      hash_ = (hash_ ^ word) * 0x100000001b3U;
      hash_ ^= hash_ >> 32;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

template <class Column>
std::string_view bytes_in(const Column& column) {
  return {static_cast<const char*>(static_cast<const void*>(column.data())),
          column.size() * sizeof(typename Column::value_type)};
}

/// Tasks that share a checksum and bounds of their times.
constexpr std::uint32_t tasks_per_block = 65536;

/// Calls `visit(section, column)` for each of the columns of such tasks, in the order of their
/// checksum.
template <class Block, class Visitor>
void for_each_block_column(Block& block, Visitor&& visit) {
  visit("work", block.work);
  visit("microbatch", block.microbatch);
  visit("input", block.input);
  visit("begin", block.begin);
  visit("end", block.end);
  visit("last_input", block.last_input);
}

/// Columns of the sections that version 3 has between the head of a plan and its tasks.
struct OverviewColumns {
  std::vector<Time> block_begin, block_end;
  std::vector<std::uint64_t> block_checksum;
  std::vector<Time> makespan, rank_facts;
  std::vector<std::uint32_t> lane_rank;
  std::vector<std::uint8_t> lane_kind;
  std::vector<Time> lane_bin, lane_unit;
  std::vector<std::uint32_t> lane_categories, lane_cells;
  std::vector<std::uint8_t> category;
  std::vector<std::uint32_t> cell;
  std::vector<std::uint64_t> head_checksum;
};

template <class ColumnsType, class Visitor>
void for_each_overview_section(ColumnsType& columns, Visitor&& visit) {
  visit("block_begin", columns.block_begin);
  visit("block_end", columns.block_end);
  visit("block_checksum", columns.block_checksum);
  visit("makespan", columns.makespan);
  visit("rank_facts", columns.rank_facts);
  visit("lane_rank", columns.lane_rank);
  visit("lane_kind", columns.lane_kind);
  visit("lane_bin", columns.lane_bin);
  visit("lane_unit", columns.lane_unit);
  visit("lane_categories", columns.lane_categories);
  visit("lane_cells", columns.lane_cells);
  visit("category", columns.category);
  visit("cell", columns.cell);
}

void take_apart(const TimelineOverview& overview, OverviewColumns& columns);

/// Throws InputError when columns contradict each other or the number of ranks or tasks.
TimelineOverview overview_from(const OverviewColumns& columns, std::uint32_t ranks,
                               std::uint64_t tasks);

/// Reads the header of a section. Throws InputError unless it has this name and type.
std::size_t count_in(const SectionHeader& header, std::string_view name, std::string_view type);

/// Throws InputError for a header of another file or version.
void check_header(const TimelineFileHeader& header);

}  // namespace penstock
