#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "experiments/input/scenario/batch_section.hpp"

namespace penstock {

/// A document, or a piece of one, in a microbatch.
struct Piece {
  std::uint32_t tokens = 1;
  double pictured = 1;  // tokens that have as many pictures in an example of the model
};

/// What a microbatch has of documents.
struct PackedMicrobatch {
  double tokens = 0;
  double pictured = 0;  // as of a piece
  double squares = 0;   // of the tokens of each document, summed
  std::uint32_t documents = 0;
  std::uint32_t longest = 0;                // document
  std::vector<std::uint32_t> lengths = {};  // of the documents, as they were taken; none of sums

  void add(const Piece& piece) {
    tokens += piece.tokens;
    pictured += piece.pictured;
    squares += static_cast<double>(piece.tokens) * piece.tokens;
    longest = piece.tokens > longest ? piece.tokens : longest;
    ++documents;
    lengths.push_back(piece.tokens);
  }
  /// Whether both cost the same.
  friend bool operator==(const PackedMicrobatch& a, const PackedMicrobatch& b) {
    return a.tokens == b.tokens && a.pictured == b.pictured && a.squares == b.squares &&
           a.documents == b.documents && a.longest == b.longest;
  }
};

/// What a microbatch costs: so much per token, per token squared of a document, and where pictures
/// are stated per pictured token.
struct TokenCost {
  double per_token = 1;
  double per_square = 0;
  double per_pictured = 0;

  double of(const PackedMicrobatch& one) const {
    return per_token * one.tokens + per_square * one.squares + per_pictured * one.pictured;
  }
};

using NextPiece = std::function<Piece()>;

/// The microbatches of one replica in a step, each of which has a document at least. With
/// `first_fit`, documents are taken until one finds no room; `balanced` and `by_cost` distribute
/// the same ones. No document may be longer than `tokens`.
std::vector<PackedMicrobatch> pack(Packing packing, std::uint32_t microbatches,
                                   std::uint32_t tokens, const TokenCost& cost,
                                   const NextPiece& next);

/// Puts microbatches in order of their cost; equal ones stay as they are.
void put_in_order(MicrobatchOrder order, const TokenCost& cost,
                  std::vector<PackedMicrobatch>& microbatches);

}  // namespace penstock
