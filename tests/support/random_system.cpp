#include "tests/support/random_system.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <set>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/run/layout/exchanges.hpp"
#include "tests/support/draws.hpp"

namespace penstock::testing {
namespace {

Placement random_placement() {
  const std::uint32_t ranks = from_to(1, 5);
  const std::uint32_t chains = from_to(1, 2);
  const std::uint32_t length = from_to(1, 6);
  std::vector<std::vector<Rank>> on;
  for (std::uint32_t s = 0; s < chains * length; ++s) {
    const std::uint32_t first = below(ranks);
    on.push_back({Rank{first}});
    if (ranks > 1 && one_in(5)) on.back().push_back(Rank{(first + from_to(1, ranks - 1)) % ranks});
  }
  // Stages come in any order in a chain: the numbers are dealt like cards.
  std::vector<Stage> cards;
  for (Stage stage : Numbers<Stage>(chains * length)) cards.push_back(stage);
  std::vector<std::vector<Stage>> dealt(chains);
  for (std::uint32_t place = 0; place < chains * length; ++place) {
    const auto card = cards.begin() + below(static_cast<std::uint32_t>(cards.size()));
    dealt[place % chains].push_back(*card);
    cards.erase(card);
  }
  return Placement::given(ranks, on, dealt);
}

/// All actions, before they have an order.
std::vector<Action> random_work(const Placement& placement, Wildness wildness) {
  const bool backward = !one_in(5);
  const std::uint32_t gap = one_in(4) ? 3 : 1;
  const std::uint32_t microbatches = from_to(1, 8);
  std::vector<Action> work;
  for (std::uint32_t number = 0; number < microbatches; ++number) {
    const Microbatch microbatch{number * gap};
    const auto chain = below(static_cast<std::uint32_t>(placement.chains().size()));
    for (Stage stage : placement.chains()[chain]) {
      work.emplace_back(Pass::forward, stage, microbatch);
      if (!backward) continue;
      if (wildness.recompute && one_in(8)) {
        work.emplace_back(Pass::recompute, stage, microbatch);
      }
      if (one_in(3)) {
        work.emplace_back(Pass::backward_input, stage, microbatch);
        work.emplace_back(Pass::backward_weight, stage, microbatch);
      } else {
        work.emplace_back(Pass::backward, stage, microbatch);
      }
    }
  }
  return work;
}

/// Runs the actions in a random sequence, each once its inputs are ready.
class Sequence {
 public:
  Sequence(const Placement& placement, std::vector<Action> work)
      : placement_(placement), work_(std::move(work)), schedule_(placement.ranks()) {}

  Schedule drawn() {
    while (!work_.empty()) {
      std::vector<std::size_t> ready = all_ready();
      const std::size_t chosen = ready[below(static_cast<std::uint32_t>(ready.size()))];
      const std::optional<std::size_t> partner = partner_of(chosen, ready);
      auto& order = schedule_.on(rank_of(work_[chosen]));
      order.push_back(work_[chosen]);
      order.back().with_next = partner.has_value();
      if (partner) order.push_back(work_[*partner]);
      finish(chosen, partner);
    }
    return std::move(schedule_);
  }

 private:
  Rank rank_of(const Action& action) const {
    return placement_.rank_of(action.stage, action.microbatch);
  }

  bool is_done(Pass pass, Stage stage, Microbatch microbatch) const {
    return done_.count(text(Action(pass, stage, microbatch))) != 0;
  }

  bool is_ready(const Action& action) const {
    const auto [pass, joined, stage, microbatch] = action;
    if (pass == Pass::backward_weight) return is_done(Pass::backward_input, stage, microbatch);
    if (pass == Pass::forward) {
      const auto before = placement_.before(stage);
      return !before || is_done(Pass::forward, *before, microbatch);
    }
    if (pass == Pass::recompute) return is_done(Pass::forward, stage, microbatch);
    const auto after = placement_.after(stage);
    const Action again(Pass::recompute, stage, microbatch);
    return is_done(Pass::forward, stage, microbatch) &&
           std::find(work_.begin(), work_.end(), again) == work_.end() &&
           (!after || is_done(Pass::backward, *after, microbatch) ||
            is_done(Pass::backward_input, *after, microbatch));
  }

  std::vector<std::size_t> all_ready() const {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (is_ready(work_[i])) ready.push_back(i);
    }
    return ready;
  }

  /// Sometimes, another ready action of the same rank for an overlap cell.
  std::optional<std::size_t> partner_of(std::size_t chosen,
                                        const std::vector<std::size_t>& ready) const {
    const Action& action = work_[chosen];
    const bool joins = action.pass == Pass::forward || gives_gradient(action.pass);
    if (!joins || !one_in(3)) return std::nullopt;
    for (const std::size_t other : ready) {
      if (rank_of(work_[other]) != rank_of(action)) continue;
      if (action.pass == Pass::forward ? gives_gradient(work_[other].pass)
                                       : work_[other].pass == Pass::forward) {
        return other;
      }
    }
    return std::nullopt;
  }

  void finish(std::size_t one, std::optional<std::size_t> other) {
    done_.insert(text(work_[one]));
    if (other) done_.insert(text(work_[*other]));
    const std::size_t higher = std::max(one, other.value_or(one));
    work_.erase(work_.begin() + static_cast<std::ptrdiff_t>(higher));
    if (other) work_.erase(work_.begin() + static_cast<std::ptrdiff_t>(std::min(one, *other)));
  }

  const Placement& placement_;
  std::vector<Action> work_;
  Schedule schedule_;
  std::set<std::string> done_;
};

/// Tenths and halves of picoseconds, so that rounding matters.
double random_us(Wildness wildness) {
  const std::uint32_t tenths = from_to(wildness.zero_times ? 0 : 1, 30);
  return tenths * 0.1 + (tenths != 0 && one_in(4) ? 0.5e-6 : 0.0);
}

Layer random_stage(Wildness wildness) {
  Layer stage = stage_of(random_us(wildness), random_us(wildness), random_us(wildness));
  if (one_in(2)) stage.backward_us = random_us(wildness);
  stage.recompute_us = random_us(wildness);
  stage.activation_bytes = below(4) * 1000;
  stage.stash_bytes = below(4) * 700;
  stage.parameter_bytes = below(3) * 5000;
  if (one_in(3)) stage.expert_parameter_bytes = below(3) * stage.parameter_bytes / 2;
  stage.copies = from_to(1, 2);
  stage.expert_copies = from_to(1, 2);
  stage.recomputed_bytes = below(3) * 900;
  stage.workspace_bytes = below(3) * 300;
  stage.pending_weight_bytes = below(3) * 400;
  return stage;
}

std::vector<bool> random_stages(std::size_t count) {
  std::vector<bool> stages;
  for (std::size_t s = 0; s < count; ++s) stages.push_back(one_in(2));
  return stages;
}

/// Ends of a chain can be tied only if they have equally many replicas.
bool can_tie(const Placement& placement) {
  return std::all_of(placement.chains().begin(), placement.chains().end(), [&](const auto& chain) {
    return placement.replicas(chain.front()) == placement.replicas(chain.back());
  });
}

Extras random_extras(const Placement& placement, std::size_t stages) {
  Extras extras;
  if (one_in(2)) extras.recomputing = {random_stages(stages), one_in(3), one_in(3)};
  for (const BufferKind kind :
       {BufferKind::pending_weight, BufferKind::workspace, BufferKind::recomputed,
        BufferKind::weight_gradients, BufferKind::context}) {
    extras.holds[static_cast<std::size_t>(kind)] = one_in(2);
  }
  extras.holds[static_cast<std::size_t>(BufferKind::optimizer)] =
      extras.has(BufferKind::weight_gradients);
  if (one_in(2)) return extras;
  if (one_in(2)) extras.tail.reduces = random_stages(stages);
  if (one_in(2)) extras.tail.early = random_stages(stages);
  extras.tail.updates = one_in(2);
  extras.tail.gathers = one_in(2);
  constexpr std::array ways{Summing::behind_stage, Summing::behind_each, Summing::behind_row,
                            Summing::in_passes};
  extras.tail.summing = ways[extras.tail.gathers ? below(4) : 2 * below(2)];
  extras.tail.across_ranks = one_in(2);
  extras.tail.ties = can_tie(placement) && one_in(2);
  return extras;
}

Training random_training(const Extras& extras, Wildness wildness) {
  Training training{.data = extras.tail.across_ranks ? 1 : from_to(1, 4),
                    .gradient_factor = extras.has(BufferKind::weight_gradients) ? 2.0 : 1.0,
                    .optimizer_factor = 2.0 * from_to(1, 3)};
  const bool in_passes = extras.tail.summing == Summing::in_passes;
  const bool each = extras.tail.summing == Summing::behind_each;
  training.zero = each || in_passes ? 2 : extras.tail.gathers ? from_to(1, 3) : 0;
  if (training.zero > 0 && training.data % 2 == 0 && one_in(2)) training.shard_groups = 2;
  training.overlaps_sums = !in_passes;
  for (const bool early : extras.tail.early) {
    training.buckets.push_back(early ? static_cast<std::uint32_t>(from_to(2, 4)) : 1);
  }
  if (one_in(2)) training.gathered_bytes = below(3) * 700;
  training.context_bytes = below(3) * 900;
  training.optimizer_us = random_us(wildness);
  training.tied_embedding_bytes = below(3) * 1100;
  return training;
}

/// Exchanges what some stages put out, of those that stay on their ranks.
void exchange_some(System& system, Wildness wildness) {
  std::vector<bool> exchanges = random_stages(system.stages.size());
  for (std::size_t s = 0; s < exchanges.size(); ++s) {
    exchanges[s] = exchanges[s] && stays_on_rank(system.placement, s);
    if (exchanges[s]) system.stages[s].exchange_us = random_us(wildness);
  }
  system.extras.tail.updated_with = first_pieces(exchanges);
  system.extras.exchanges = std::move(exchanges);
}

HardwareSpec random_links() {
  if (one_in(3)) return delay(below(30) * 0.1);
  return link(below(20) * 0.1, 0.7e9);
}

}  // namespace

System random_system(Wildness wildness) {
  System system{random_placement(), {}, {}};
  system.schedule = Sequence(system.placement, random_work(system.placement, wildness)).drawn();
  for (std::size_t s = 0; s < system.placement.chains().front().size(); ++s) {
    system.stages.push_back(random_stage(wildness));
  }
  system.extras = random_extras(system.placement, system.stages.size());
  if (wildness.exchanges && one_in(2)) exchange_some(system, wildness);
  system.training = random_training(system.extras, wildness);
  system.hardware = random_links();
  if (one_in(2)) system.overlap = Overlap::fused;
  RC_LOG() << '\n' << system.schedule;
  return system;
}

void draw_bytes(PricedPlan& priced) {
  std::map<std::pair<BufferKind, Stage>, std::uint64_t> drawn;
  for (std::size_t buffer = 0; buffer < priced.plan.buffers.size(); ++buffer) {
    const BufferClass& own = priced.plan.buffers[buffer];
    const auto found = drawn.try_emplace({own.kind, own.stage}, 0);
    if (found.second) found.first->second = one_in(5) ? 0 : from_to(1, 1000);
    priced.costs.bytes[buffer] = found.first->second;
  }
}

void write_communication(System& system) {
  system.overlap = Overlap::serial;
  const bool shards = one_in(2);
  const auto csv = write_torch_comms(system.schedule, system.placement, {.fsdp = shards});
  Communication& comms = system.extras.communication;
  if (shards) {
    for (Layer& stage : system.stages) stage.parameter_bytes = from_to(1, 8);
    system.training = {.data = 2, .zero = 3, .whole_gradients = true, .gathers_written = true};
    system.extras.tail = {.reduces = std::vector<bool>(system.stages.size(), true),
                          .updated_with = first_pieces(system.extras.exchanges),
                          .updates = one_in(2),
                          .summing = Summing::written};
    system.extras.holds[static_cast<std::size_t>(BufferKind::gathered)] = true;
    comms.weights = comms.gradients = true;
  }
  comms.rows = read_torch_csv(csv).comms;
  const auto& exchanges = system.extras.exchanges;
  if (!exchanges.empty()) add_exchanges(exchanges, system.schedule, system.placement, comms);
  comms.streams = CommStreams{static_cast<std::uint8_t>(below(4))};
  comms.batched = one_in(2);
  comms.eager.assign(system.stages.size(), one_in(2));
  for (auto& row : comms.rows) {
    for (CommCell& cell : row) {
      if (is_receive(cell.comm)) cell.before = from_to(0, cell.before);
    }
    std::stable_sort(row.begin(), row.end(), [](const CommCell& one, const CommCell& other) {
      return one.before < other.before;
    });
  }
}

}  // namespace penstock::testing

namespace penstock {

std::ostream& operator<<(std::ostream& out, const Schedule& schedule) {
  return out << write_torch_csv(schedule).text;
}

}  // namespace penstock
