#include "experiments/plan/sweeps/merge.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string_view>

#include "experiments/input/files/output_file.hpp"
#include "experiments/plan/sweeps/row_text.hpp"
#include "experiments/plan/sweeps/sweep_result.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

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
          fmt::format("configuration {} of {} is in none of the files; run the shard "
                      "that has it to its end first",
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
