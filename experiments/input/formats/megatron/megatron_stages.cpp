#include "experiments/input/formats/megatron/megatron_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/transformers/transformer_shape.hpp"
#include "sim/base/error.hpp"
#include "sim/base/limits.hpp"

namespace penstock {
namespace {

constexpr const char* layout_name = "--pipeline-model-parallel-layout";
constexpr const char* pipeline_name = "--pipeline-model-parallel-size";
constexpr const char* per_stage_name = "--num-layers-per-virtual-pipeline-stage";
constexpr const char* per_rank_name = "--num-virtual-stages-per-pipeline-rank";
constexpr const char* first_name = "--decoder-first-pipeline-num-layers";
constexpr const char* last_name = "--decoder-last-pipeline-num-layers";
constexpr const char* embedding_name = "--account-for-embedding-in-pipeline-split";
constexpr const char* loss_name = "--account-for-loss-in-pipeline-split";

/// Computes the stages of one command.
class Cutter {
 public:
  Cutter(const MegatronCommand& command, double layers, double further)
      : command_(command), layers_(layers), further_(further) {
    pipeline_ = command.whole(pipeline_name, Limits::ranks).value_or(1);
  }

  MegatronStages cut() {
    if (command_.has(layout_name)) return by_layout();
    const std::optional<double> first = command_.whole(first_name, layers_);
    const std::optional<double> last = command_.whole(last_name, layers_);
    if (first || last) return by_ends(first, last);
    return counted();
  }

 private:
  MegatronStages result(double chunks) const {
    return {.pipeline = static_cast<std::uint32_t>(pipeline_),
            .chunks = static_cast<std::uint32_t>(chunks),
            .stages = {}};
  }

  MegatronStages by_layout() const {
    std::vector<std::string> letters;
    try {
      letters = pipeline_layout_stages(*command_.word(layout_name));
    } catch (const InputError& error) {
      if (!error.where().empty()) throw;
      command_.fail(layout_name, error.what());
    }
    check_letters(letters);
    const auto stages = static_cast<double>(letters.size());
    if (std::fmod(stages, pipeline_) != 0) {
      command_.fail(layout_name, fmt::format("its {} stages do not divide among {} pipeline ranks",
                                             stages, pipeline_));
    }
    std::vector<std::size_t> counts;
    for (const std::string& stage : letters) counts.push_back(stage.size());
    return with_counts(counts, stages / pipeline_);
  }

  void check_letters(const std::vector<std::string>& stages) const {
    std::string all;
    for (const std::string& stage : stages) all += stage;
    check_count(all, 't', layers_, "transformer layers, as --num-layers says");
    check_count(all, 'm', further_, "layers of multi-token prediction, as --mtp-num-layers says");
    const std::string wanted = "E" + std::string(static_cast<std::size_t>(layers_), 't') +
                               std::string(static_cast<std::size_t>(further_), 'm') + "L";
    if (all == wanted) return;
    command_.fail(layout_name, "its layers must come as one E, every t, every m, and one L");
  }

  void check_count(const std::string& all, char letter, double wanted, const char* what) const {
    const auto count = static_cast<double>(std::ranges::count(all, letter));
    if (count == wanted) return;
    command_.fail(layout_name,
                  fmt::format("it has {} times {}; it needs {} {}", count, letter, wanted, what));
  }

  MegatronStages by_ends(std::optional<double> first, std::optional<double> last) const {
    const char* name = first ? first_name : last_name;
    const double others = pipeline_ - (first ? 1 : 0) - (last ? 1 : 0);
    const double rest = layers_ - first.value_or(0) - last.value_or(0);
    if (others < 0 || rest < 0 || (others == 0) != (rest == 0) ||
        (others > 0 && std::fmod(rest, others) != 0)) {
      command_.fail(name, fmt::format("the other {} layers cannot be shared evenly by {} other "
                                      "pipeline ranks",
                                      rest, others));
    }
    std::vector<double> ranks(static_cast<std::size_t>(pipeline_), others > 0 ? rest / others : 0);
    if (first) ranks.front() = *first;
    if (last) ranks.back() = *last;
    return with_ranks(ranks, chunks_of(*std::ranges::max_element(ranks), name));
  }

  /// Stages from the layers of each rank, divided evenly among its chunks.
  MegatronStages with_ranks(const std::vector<double>& ranks, double chunks) const {
    for (const double layers : ranks) {
      if (std::fmod(layers, chunks) == 0) continue;
      command_.fail(command_.has(per_rank_name) ? per_rank_name : per_stage_name,
                    fmt::format("a rank's {} cannot be divided into {} chunks",
                                penstock::counted(std::uint64_t(layers), "layer"), chunks));
    }
    std::vector<std::size_t> counts;
    for (double chunk = 0; chunk < chunks; ++chunk) {
      for (const double layers : ranks) counts.push_back(static_cast<std::size_t>(layers / chunks));
    }
    return with_ends(counts, chunks);
  }

  /// Stages of equal length. Embedding and loss count as layers if the command says so.
  MegatronStages counted() const {
    const double embedding = command_.has(embedding_name) ? 1 : 0;
    const double loss = command_.has(loss_name) ? 1 : 0;
    const double all = layers_ + embedding + loss;
    const double chunks = chunks_of(all / pipeline_, pipeline_name);
    const double stages = pipeline_ * chunks;
    if (stages > Limits::stages || std::fmod(all, stages) != 0) {
      command_.fail(command_.has(pipeline_name) ? pipeline_name : "--num-layers",
                    fmt::format("{} cannot be divided into {} stages",
                                penstock::counted(std::uint64_t(all), "layer"), stages));
    }
    if (embedding + loss == 0) return result(chunks);
    std::vector<std::size_t> counts(static_cast<std::size_t>(stages),
                                    static_cast<std::size_t>(all / stages));
    counts.front() -= static_cast<std::size_t>(embedding);
    if (counts.back() == 0) command_.fail(loss_name, "no layer is left for it");
    counts.back() -= static_cast<std::size_t>(loss);
    return with_ends(counts, chunks);
  }

  double chunks_of(double layers_of_rank, const char* name) const {
    if (const auto chunks = command_.whole(per_rank_name, Limits::stages)) return *chunks;
    const auto per_stage = command_.whole(per_stage_name, TransformerLimits::layers);
    if (!per_stage) return 1;
    const double chunks = layers_of_rank / *per_stage;
    if (chunks >= 1 && std::floor(chunks) == chunks) return chunks;
    command_.fail(command_.has(per_stage_name) ? per_stage_name : name,
                  fmt::format("{} layers of a rank do not divide into chunks of {}", layers_of_rank,
                              *per_stage));
  }

  /// Stages from their numbers of transformer layers. All other layers go to the first and last
  /// stage.
  MegatronStages with_ends(std::vector<std::size_t> counts, double chunks) const {
    counts.front() += 1;
    counts.back() += static_cast<std::size_t>(further_) + 1;
    return with_counts(counts, chunks);
  }

  MegatronStages with_counts(const std::vector<std::size_t>& counts, double chunks) const {
    MegatronStages result = this->result(chunks);
    std::uint32_t next = 0;
    for (const std::size_t count : counts) {
      auto& stage = result.stages.emplace_back();
      for (std::size_t i = 0; i < count; ++i) stage.push_back(LayerIndex{next++});
    }
    return result;
  }

  const MegatronCommand& command_;
  double layers_;
  double further_;
  double pipeline_ = 1;
};

constexpr std::size_t largest_count = 100'000;
constexpr std::size_t most_letters = 2 * Limits::stages;
constexpr int deepest_product = 16;

[[noreturn]] void fail_at(std::string_view text, std::size_t at, const std::string& what) {
  const std::string seen = at == text.size() ? "the end" : fmt::format("character {}", at + 1);
  throw InputError(fmt::format("at {} of \"{}\": {}", seen, shortened(text), what));
}

/// Reads a text from left to right and skips ignored characters.
class Reader {
 public:
  Reader(std::string_view text, std::string_view ignored) : text_(text), ignored_(ignored) {
    skip_ignored();
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  char take() {
    const char c = text_[at_++];
    skip_ignored();
    return c;
  }
  bool take_if(char wanted) {
    if (at_end() || peek() != wanted) return false;
    take();
    return true;
  }
  void need(char wanted) {
    if (!take_if(wanted)) fail(fmt::format("'{}' should stand here", wanted));
  }

  std::size_t take_number() {
    if (peek() < '0' || peek() > '9') fail("a whole number should stand here");
    std::size_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
      number = 10 * number + static_cast<std::size_t>(peek() - '0');
      if (number > largest_count) fail(fmt::format("no number is above {}", largest_count));
      take();
    }
    return number;
  }

  std::size_t at() const { return at_; }
  [[noreturn]] void fail(const std::string& what) const { fail_at(text_, at_, what); }

 private:
  void skip_ignored() {
    while (!at_end() && ignored_.find(peek()) != std::string_view::npos) ++at_;
  }

  std::string_view text_;
  std::string_view ignored_;
  std::size_t at_ = 0;
};

constexpr const char* layout_help =
    "a layout holds E, t, m, L, |, groups in parentheses, and *N behind any of them";

/// A layer or the end of a stage, and its position in the layout.
struct Letter {
  char letter;
  std::size_t at;
};
using Letters = std::vector<Letter>;

/// The letters of a group, without its parentheses. Megatron-LM does not nest groups.
Letters take_group(Reader& reader) {
  Letters group;
  for (reader.take(); reader.peek() != ')';) {
    if (std::string_view("EtmL|").find(reader.peek()) == std::string_view::npos ||
        reader.at_end()) {
      reader.fail(reader.peek() == '(' ? "a group cannot stand in a group" : layout_help);
    }
    const Letter letter{reader.peek(), reader.at()};
    reader.take();
    const std::size_t count = reader.take_if('*') ? reader.take_number() : 1;
    if (group.size() + count > most_letters) reader.fail("there are too many layers");
    group.insert(group.end(), count, letter);
  }
  reader.take();
  if (reader.peek() != '*') reader.fail("a group needs a count behind it, as in (tt|)*3");
  return group;
}

Letters take_letter(Reader& reader) {
  const Letter letter{reader.peek(), reader.at()};
  reader.take();
  return {letter};
}

Letters unrolled(std::string_view layout) {
  Reader reader(layout, ", \t\r\n");
  Letters letters;
  while (!reader.at_end()) {
    const char c = reader.peek();
    if (std::string_view("EtmL|(").find(c) == std::string_view::npos) reader.fail(layout_help);
    const Letters group = c == '(' ? take_group(reader) : take_letter(reader);
    const std::size_t count = reader.take_if('*') ? reader.take_number() : 1;
    if (letters.size() + count * group.size() > most_letters) {
      reader.fail("there are too many layers");
    }
    for (std::size_t i = 0; i < count; ++i) {
      letters.insert(letters.end(), group.begin(), group.end());
    }
  }
  return letters;
}

using List = std::vector<std::size_t>;

List take_sum(Reader& reader, int depth);

List take_items(Reader& reader) {
  List list;
  reader.need('[');
  if (reader.take_if(']')) return list;
  do {
    list.push_back(reader.take_number());
  } while (reader.take_if(','));
  reader.need(']');
  return list;
}

List take_product(Reader& reader, int depth) {
  List list;
  if (reader.take_if('(')) {
    if (depth == deepest_product) reader.fail("parentheses are nested too deep");
    list = take_sum(reader, depth + 1);
    reader.need(')');
  } else {
    list = take_items(reader);
  }
  while (reader.take_if('*')) {
    const std::size_t count = reader.take_number();
    if (static_cast<double>(list.size() * count) > TransformerLimits::layers) {
      reader.fail(fmt::format("there are more than {} layers", TransformerLimits::layers));
    }
    const List once = std::move(list);
    list.clear();
    for (std::size_t i = 0; i < count; ++i) list.insert(list.end(), once.begin(), once.end());
  }
  return list;
}

List take_sum(Reader& reader, int depth) {
  List list = take_product(reader, depth);
  while (reader.take_if('+')) {
    const List more = take_product(reader, depth);
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

}  // namespace

MegatronStages megatron_stages(const MegatronCommand& command, double layers, double further) {
  return Cutter(command, layers, further).cut();
}

std::vector<std::string> pipeline_layout_stages(std::string_view layout) {
  constexpr const char* needed =
      "a stage without a layer ends here; each stage needs one, so take a bar away";
  std::vector<std::string> stages{""};
  for (const Letter& each : unrolled(layout)) {
    if (each.letter != '|') {
      stages.back() += each.letter;
      continue;
    }
    if (stages.back().empty()) fail_at(layout, each.at, needed);
    stages.emplace_back();
  }
  if (stages.back().empty()) fail_at(layout, layout.size(), needed);
  if (stages.size() > Limits::stages) {
    throw InputError(fmt::format("it has more than {} stages", Limits::stages));
  }
  return stages;
}

std::vector<std::size_t> python_list(std::string_view text) {
  Reader reader(text, " \t\r\n");
  const List list = take_sum(reader, 0);
  if (!reader.at_end()) reader.fail("a list should end here");
  return list;
}

}  // namespace penstock
