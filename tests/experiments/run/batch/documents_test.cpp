#include "experiments/run/batch/documents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "experiments/run/batch/packing.hpp"
#include "sim/base/error.hpp"

namespace penstock::testing {
namespace {

BatchSection listed(const std::vector<std::uint32_t>& documents, std::uint32_t tokens) {
  BatchSection batch;
  for (const std::uint32_t one : documents) batch.lengths.documents.push_back({one, {}});
  batch.tokens = tokens;
  return batch;
}

std::vector<std::uint32_t> taken(const BatchSection& batch, const DrawOfReplica& of,
                                 std::size_t count) {
  DocumentStream stream(batch, of);
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(stream.next().tokens);
  return all;
}

std::vector<PackedMicrobatch> packed(Packing packing, const std::vector<std::uint32_t>& documents,
                                     std::uint32_t microbatches, std::uint32_t tokens,
                                     const TokenCost& cost = {}) {
  std::size_t next = 0;
  return pack(packing, microbatches, tokens, cost, [&] {
    const std::uint32_t length = documents[next++ % documents.size()];
    return Piece{length, double(length)};
  });
}

std::vector<double> tokens_of(const std::vector<PackedMicrobatch>& all) {
  std::vector<double> tokens;
  for (const PackedMicrobatch& one : all) tokens.push_back(one.tokens);
  return tokens;
}

using Numbers32 = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("documents of a file come in its order, over again, and go on from draw to draw") {
  const BatchSection batch = listed({1, 2, 3, 4, 5}, 10);
  // Two replicas take two documents each in a step.
  const DrawOfReplica first{.draw = 0, .replica = 0, .replicas = 2, .microbatches = 2};
  const DrawOfReplica second{.draw = 0, .replica = 1, .replicas = 2, .microbatches = 2};
  const DrawOfReplica next{.draw = 1, .replica = 0, .replicas = 2, .microbatches = 2};
  CHECK(taken(batch, first, 2) == Numbers32{1, 2});
  CHECK(taken(batch, second, 2) == Numbers32{3, 4});
  CHECK(taken(batch, next, 2) == Numbers32{5, 1});
}

TEST_CASE("a document longer than a microbatch is cut, or refused with the remedy") {
  BatchSection batch = listed({25, 4}, 10);
  CHECK(taken(batch, {}, 5) == Numbers32{10, 10, 5, 4, 10});
  batch.longer = LongDocuments::refuse;
  CHECK_THROWS_WITH_AS(taken(batch, {}, 1),
                       "a document has 25 tokens, and a microbatch 10; set /batch/tokens, or "
                       "longer=cut",
                       InputError);
}

TEST_CASE("documents that are drawn depend on seed, draw and replica alone, and have their mean") {
  BatchSection batch{.tokens = 1'000'000};
  batch.lengths.law = LengthLaw::lognormal;
  batch.lengths.mean = 2000;
  batch.lengths.sigma = 0.5;
  const Numbers32 all = taken(batch, {}, 20'000);
  CHECK(taken(batch, {}, 20'000) == all);
  CHECK(taken(batch, {.draw = 1}, 100) != taken(batch, {}, 100));
  CHECK(taken(batch, {.replica = 1}, 100) != taken(batch, {}, 100));
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  CHECK(sum / 20'000 == doctest::Approx(2000).epsilon(0.02));  // 5 standard errors
  batch.seed = 2;
  CHECK(taken(batch, {}, 100) != Numbers32(all.begin(), all.begin() + 100));
  batch.lengths.max = 1500;
  for (const std::uint32_t one : taken(batch, {}, 1000)) CHECK(one <= 1500);
}

TEST_CASE("a uniform law stays within its bounds, and a histogram gives its lengths by weight") {
  BatchSection batch{.tokens = 1000};
  batch.lengths.law = LengthLaw::uniform;
  batch.lengths.min = 5;
  batch.lengths.max = 6;
  const Numbers32 two = taken(batch, {}, 1000);
  CHECK(std::accumulate(two.begin(), two.end(), 0.0) / 1000 == doctest::Approx(5.5).epsilon(0.02));
  for (const std::uint32_t one : two) CHECK((one == 5 || one == 6));
  batch.lengths.law.reset();
  batch.lengths.histogram = {
      {.tokens = 10, .weight = 3}, {.tokens = 50, .weight = 0}, {.tokens = 20, .weight = 1}};
  const Numbers32 drawn = taken(batch, {}, 4000);
  const auto tens = std::count(drawn.begin(), drawn.end(), 10U);
  CHECK(std::count(drawn.begin(), drawn.end(), 20U) + tens == 4000);
  CHECK(static_cast<double>(tens) == doctest::Approx(3000).epsilon(0.05));
}

TEST_CASE("first-fit puts a document where there is room first, and ends where there is none") {
  // 6 | 5; 4 joins 6, 5 joins 5, 1 has no room left anywhere.
  const auto two = packed(Packing::first_fit, {6, 5, 4, 5, 1}, 2, 10);
  CHECK(tokens_of(two) == std::vector<double>{10, 10});
  CHECK(two[0].squares == 36 + 16);
  CHECK(two[1].squares == 25 + 25);
  CHECK(two[0].longest == 6);
  CHECK(two[1].documents == 2);
}

TEST_CASE("balanced packing evens out tokens, by-cost packing costs, of the same documents") {
  // First-fit takes 8 1 1 | 6 4 | 7 2 and has no room for the next 8.
  const Numbers32 documents{8, 1, 6, 4, 1, 7, 2, 8};
  CHECK(tokens_of(packed(Packing::first_fit, documents, 3, 10)) == std::vector<double>{10, 10, 9});
  // 8 | 7 | 6; 4 to 6, 2 to 7, 1 to 8, 1 to 9 of the first of equals.
  CHECK(tokens_of(packed(Packing::balanced, documents, 3, 10)) == std::vector<double>{10, 9, 10});
  // By squares 64 | 49 | 36; then 16 to 36, 4 to 49, 1 and 1 to 52 and 53.
  const auto even = packed(Packing::by_cost, documents, 3, 10, {.per_token = 0, .per_square = 1});
  CHECK(even[0].squares == 64);
  CHECK(even[1].squares + even[2].squares == 49 + 36 + 16 + 4 + 1 + 1);
  CHECK(even[1].squares == 54);
}

TEST_CASE("pictures of a document that is cut go with its tokens, and stated ones count alone") {
  BatchSection batch = listed({25}, 10);
  DocumentStream in_proportion(batch, {});
  CHECK(in_proportion.next().pictured == 10);
  batch.lengths.documents[0].pictures = 5;
  batch.pictures_per_token = 0.5;  // 10 tokens of an example have 5
  DocumentStream stated(batch, {});
  for (const double pictured : {4.0, 4.0, 2.0}) {
    CHECK(stated.next().pictured == doctest::Approx(pictured));
  }
}

TEST_CASE("by-cost packing spreads pictures, which balanced packing does not see") {
  const std::vector<Piece> documents{{4, 9}, {4, 0}, {4, 9}, {4, 0}, {9, 0}};
  const auto most_pictured = [&](Packing packing) {
    std::size_t next = 0;
    const auto two = pack(packing, 2, 8, {.per_token = 1, .per_square = 0, .per_pictured = 1},
                          [&] { return documents[next++]; });
    return std::max(two[0].pictured, two[1].pictured);
  };
  CHECK(most_pictured(Packing::balanced) == 18);
  CHECK(most_pictured(Packing::by_cost) == 9);
}

TEST_CASE("without packing each document is a microbatch; their order is by cost") {
  auto alone = packed(Packing::none, {3, 1, 2}, 3, 10);
  CHECK(tokens_of(alone) == std::vector<double>{3, 1, 2});
  put_in_order(MicrobatchOrder::longest_first, {}, alone);
  CHECK(tokens_of(alone) == std::vector<double>{3, 2, 1});
  put_in_order(MicrobatchOrder::shortest_first, {}, alone);
  CHECK(tokens_of(alone) == std::vector<double>{1, 2, 3});
}

}  // namespace penstock::testing
