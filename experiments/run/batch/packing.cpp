#include "experiments/run/batch/packing.hpp"

#include <algorithm>
#include <bit>
#include <queue>
#include <utility>

namespace penstock {
namespace {

/// The room of bins: a tree of the most room below each node.
class Rooms {
 public:
  Rooms(std::uint32_t bins, std::uint32_t room)
      : leaves_(std::bit_ceil(std::size_t{bins})), most_(2 * leaves_) {
    for (std::size_t bin = 0; bin < bins; ++bin) most_[leaves_ + bin] = room;
    for (std::size_t node = leaves_ - 1; node > 0; --node) update(node);
  }

  /// Whether any bin has this much room.
  bool any(std::uint32_t needed) const { return most_[1] >= needed; }
  /// Takes room of the first bin that has as much, and returns the bin.
  std::size_t take(std::uint32_t needed) {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (most_[2 * node] >= needed ? 0 : 1);
    const std::size_t bin = node - leaves_;
    most_[node] -= needed;
    while ((node /= 2) > 0) update(node);
    return bin;
  }

 private:
  void update(std::size_t node) { most_[node] = std::max(most_[2 * node], most_[2 * node + 1]); }

  std::size_t leaves_;
  std::vector<std::uint32_t> most_;
};

struct Fitted {
  std::vector<PackedMicrobatch> microbatches;
  std::vector<Piece> pieces;  // in all of them
};

Fitted first_fit(std::uint32_t microbatches, std::uint32_t tokens, const NextPiece& next) {
  Fitted fitted;
  fitted.microbatches.resize(microbatches);
  Rooms rooms(microbatches, tokens);
  for (Piece piece = next(); rooms.any(piece.tokens); piece = next()) {
    fitted.microbatches[rooms.take(piece.tokens)].add(piece);
    fitted.pieces.push_back(piece);
  }
  return fitted;
}

/// Costliest first, each to the microbatch that costs least so far.
std::vector<PackedMicrobatch> even_out(Fitted fitted, const TokenCost& cost) {
  const auto cost_alone = [&](const Piece& piece) {
    const double tokens = piece.tokens;
    return cost.of({.tokens = tokens, .pictured = piece.pictured, .squares = tokens * tokens});
  };
  std::ranges::stable_sort(fitted.pieces, std::greater<>(), cost_alone);
  std::vector<PackedMicrobatch> even(fitted.microbatches.size());
  using Bin = std::pair<double, std::size_t>;  // cost, number
  std::priority_queue<Bin, std::vector<Bin>, std::greater<>> bins;
  for (std::size_t bin = 0; bin < even.size(); ++bin) bins.emplace(0, bin);
  for (const Piece& piece : fitted.pieces) {
    const std::size_t bin = bins.top().second;
    bins.pop();
    even[bin].add(piece);
    bins.emplace(cost.of(even[bin]), bin);
  }
  return even;
}

}  // namespace

std::vector<PackedMicrobatch> pack(Packing packing, std::uint32_t microbatches,
                                   std::uint32_t tokens, const TokenCost& cost,
                                   const NextPiece& next) {
  if (packing == Packing::none) {
    std::vector<PackedMicrobatch> alone(microbatches);
    for (PackedMicrobatch& one : alone) one.add(next());
    return alone;
  }
  Fitted fitted = first_fit(microbatches, tokens, next);
  if (packing == Packing::first_fit) return std::move(fitted.microbatches);
  return even_out(std::move(fitted), packing == Packing::balanced ? TokenCost{} : cost);
}

void put_in_order(MicrobatchOrder order, const TokenCost& cost,
                  std::vector<PackedMicrobatch>& microbatches) {
  if (order == MicrobatchOrder::given) return;
  const bool longest = order == MicrobatchOrder::longest_first;
  std::ranges::stable_sort(microbatches, [&](const PackedMicrobatch& a, const PackedMicrobatch& b) {
    return longest ? cost.of(b) < cost.of(a) : cost.of(a) < cost.of(b);
  });
}

}  // namespace penstock
