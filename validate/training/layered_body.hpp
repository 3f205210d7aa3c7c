#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "validate/job/rank_program.hpp"
#include "validate/training/layered_model.hpp"
#include "validate/training/stage_trial.hpp"
#include "validate/training/stage_weights.hpp"
#include "validate/training/tensor_codec.hpp"

namespace penstock {

/// The actions of a rank with known layers: they run the layers and track what is kept, passed on
/// and summed. Stages of one rank pass tensors without a transfer; recomputed activations are
/// really dropped, and evicted ones really leave.
///
/// Used like BusyBody; calls throw OrderFailure when an action lacks an input.
class LayeredBody {
 public:
  /// The job must outlive it. `words`: of each transfer's tensor, by task.
  LayeredBody(const Job& job, Rank rank, const std::vector<std::size_t>& words);

  void begin();
  std::span<std::uint64_t> room(const Reading& reading);
  void take_in(const Reading& reading);
  void perform(const Step& step);
  void prepare_class(std::uint32_t work);
  void perform_class(std::uint32_t work);
  std::span<const std::uint64_t> made(const Step& step, const TensorSend& sending);
  /// Adds the results of this rank's part of the last run.
  void add_numbers(TrainedNumbers& numbers) const;
  /// Adds the errors of what it encoded in its first run, and the peak of its stash in the last.
  void add_coding(CodingNumbers& coding) const;
  /// Adds the times of its layers in the last run, if they are measured.
  void add_layer_times(TimesOfLayers& times) const;

 private:
  /// What is kept of a cell between its actions.
  struct Kept {
    enum class Phase : std::uint8_t { whole, dropped, pending, away };
    Phase phase = Phase::whole;
    Phase when_back = Phase::whole;  // of an evicted one
    Tensor input;                    // for recomputation
    LayerTensors layers;
    PackedStash packed;
    double held_bytes = 0;  // of the stash
  };
  /// The codecs of a model stage.
  struct StageCoders {
    std::optional<TensorCodec> stash;
    std::optional<TensorCodec> link;
  };
  /// An activation or gradient between two stages, by its producer.
  struct PassedKey {
    TensorKind kind;
    std::uint32_t model_stage;
    Microbatch microbatch;
    friend auto operator<=>(const PassedKey&, const PassedKey&) = default;
  };

  static constexpr std::uint32_t before_first = UINT32_MAX;  // passes the data to model stage 0

  std::uint32_t model_stage_of(Stage stage) const {
    return job_.priced.plan.model_stage[index(stage)];
  }
  const std::vector<PlacedLayer>& layers_of(Stage stage) const;
  StageWeights& weights_of(Stage stage);
  std::uint32_t version_of(const CellKey& cell) const;
  StageRun run_of(const CellKey& cell);
  Kept& kept_of(const CellKey& cell, Kept::Phase phase, const char* missing);
  Tensor take_passed(const PassedKey& key);
  void pass_on(const PassedKey& key, Tensor tensor);
  void pass_on_inputs();

  void perform(TaskId task);
  void perform_passes(TaskId task);
  void prepare_trial(std::uint32_t work);
  void check_slices(const CellKey& cell, bool back) const;
  void forward(const CellKey& cell);
  void drop(const CellKey& cell);
  void recompute(const CellKey& cell);
  void input_gradient(const CellKey& cell);
  void weight_gradient(const CellKey& cell);
  void update(Stage stage);
  CodingSums* errors_of(CodingSums& sums) { return first_run_ ? &sums : nullptr; }
  const TensorCodec* link_codec(const TensorLabel& label) const;
  void pack(const CellKey& cell);
  void hold(double bytes);
  void unpack(const CellKey& cell, Kept& kept);
  void append_packed(const TensorCodec& codec, const Tensor& tensor);
  void add_to_total(std::uint32_t model_stage);
  void take_tie(std::uint32_t model_stage);
  std::uint32_t last_stage() const;
  bool holds(std::uint32_t model_stage) const;
  void add_tie(std::uint32_t own, LayerTensors& gradients);
  void share_table(std::uint32_t own, StageWeights& updated);
  Tensor& tied_tensor(std::uint32_t model_stage, LayerTensors& tensors) const;
  void evict(const CellKey& cell);
  void load(const CellKey& cell);

  const Job& job_;
  const std::vector<std::size_t>& words_;
  std::unique_ptr<const LayeredModel> model_;
  bool has_backward_;
  std::set<CellKey> recomputed_;
  std::map<CellKey, std::uint32_t> versions_;
  std::map<Stage, StageWeights> weights_;
  std::map<std::uint32_t, StageTrial> trials_;  // by work class

  // Of the current run.
  double loss_ = 0;
  std::set<CellKey> begun_;
  std::map<CellKey, Kept> kept_;
  std::map<CellKey, std::vector<SliceMemory>> slices_;  // by stage and whole microbatch
  std::map<PassedKey, Tensor> passed_;
  std::map<std::uint32_t, LayerTensors> totals_;  // by model stage: received gradient sums
  std::map<std::uint32_t, Tensor> ties_;          // by model stage: received tied gradients
  std::map<std::uint32_t, Tensor> table_sums_;    // by end: summed gradients of a table held twice
  std::vector<std::uint64_t> received_;
  std::vector<std::uint64_t> sent_;
  std::uint32_t rank_;
  std::vector<StageCoders> coders_;  // by model stage; empty: nothing is encoded
  CodingNumbers coding_;
  double stash_bytes_ = 0;
  double peak_stash_bytes_ = 0;
  bool first_run_ = true;
  std::uint32_t runs_ = 0;
  std::optional<LayerWatch> watch_;  // none: layers are not measured
};

/// Words of each transfer's tensor, by task; 0 for actions. Throws UsageError for unsupported
/// layers.
std::vector<std::size_t> layered_tensor_words(const Job& job);

}  // namespace penstock
