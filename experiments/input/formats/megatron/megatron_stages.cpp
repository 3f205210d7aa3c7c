#include "experiments/input/formats/megatron/megatron_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "experiments/input/files/table.hpp"
#include "experiments/input/formats/megatron/megatron_patterns.hpp"
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
    const auto count = static_cast<double>(std::count(all.begin(), all.end(), letter));
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
    return with_ranks(ranks, chunks_of(*std::max_element(ranks.begin(), ranks.end()), name));
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

}  // namespace

MegatronStages megatron_stages(const MegatronCommand& command, double layers, double further) {
  return Cutter(command, layers, further).cut();
}

}  // namespace penstock
