#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "experiments/input/scenario/batch_section.hpp"

namespace penstock {

/// What a microbatch has of documents.
struct PackedMicrobatch {
  double tokens = 0;
  double squares = 0;  // of the tokens of each document, summed
  std::uint32_t documents = 0;
  std::uint32_t longest = 0;  // document

  void add(std::uint32_t document) {
    tokens += document;
    squares += static_cast<double>(document) * document;
    longest = document > longest ? document : longest;
    ++documents;
  }
  friend bool operator==(const PackedMicrobatch&, const PackedMicrobatch&) = default;
};

/// What a microbatch costs: so much per token, and per token squared of a document.
struct TokenCost {
  double per_token = 1;
  double per_square = 0;

  double of(double tokens, double squares) const {
    return per_token * tokens + per_square * squares;
  }
  double of(const PackedMicrobatch& one) const { return of(one.tokens, one.squares); }
};

using NextDocument = std::function<std::uint32_t()>;

/// The microbatches of one replica in a step, each of which has a document at least. With
/// `first_fit`, documents are taken until one finds no room; `balanced` and `by_cost` distribute
/// the same ones. No document may be longer than `tokens`.
std::vector<PackedMicrobatch> pack(Packing packing, std::uint32_t microbatches,
                                   std::uint32_t tokens, const TokenCost& cost,
                                   const NextDocument& next);

/// Puts microbatches in order of their cost; equal ones stay as they are.
void put_in_order(MicrobatchOrder order, const TokenCost& cost,
                  std::vector<PackedMicrobatch>& microbatches);

}  // namespace penstock
