// What the 32 threads of a warp do together: products of small matrices, and loads of them.
#include "tests/support/ptx/thread.hpp"

namespace penstock::testing::ptx {
namespace {

void wait_for_warp(Thread& thread, const Instruction&) { thread.state = ThreadState::at_warp; }

/// Two numbers of a register, of which bf16 is the upper half of a float.
float half_of(std::uint32_t pair, std::size_t which) {
  return std::bit_cast<float>(which == 0 ? pair << 16U : pair & 0xFFFF0000U);
}

using Matrix = std::array<std::array<float, 16>, 16>;

/// Where a number of a fragment is: lane 4 g + t has two of row g, two of row g + 8, and the same of
/// the next 8 columns.
struct Place {
  std::size_t row;
  std::size_t column;
};
Place place_of(std::size_t lane, std::size_t number) {
  return {lane / 4 + number / 2 % 2 * 8, lane % 4 * 2 + number % 2 + number / 4 * 8};
}

/// 16 x 16 times 16 x 8, in bf16, added to sums: here rounded once, there in an order of its own.
void multiply(std::span<Thread> warp, const Instruction& i) {
  Matrix rows{};
  Matrix columns{};  // transposed
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    for (std::size_t number = 0; number < 8; ++number) {
      const auto [row, column] = place_of(lane, number);
      rows[row][column] = half_of(get<std::uint32_t>(warp[lane], i.at[4 + number / 2]), number % 2);
      if (number / 2 % 2 == 1) continue;  // the other matrix has 8 columns
      columns[row][column] =
          half_of(get<std::uint32_t>(warp[lane], i.at[8 + number / 4]), number % 2);
    }
  }
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    for (std::size_t number = 0; number < 4; ++number) {
      const auto [row, column] = place_of(lane, number);
      double sum = get<float>(warp[lane], i.at[10 + number]);
      for (std::size_t k = 0; k < 16; ++k) sum += double{rows[row][k]} * columns[column][k];
      put<float>(warp[lane], i.at[number], static_cast<float>(sum));
    }
  }
}

/// Four squares of 8 rows of 16 bytes; lane 8 s + r names row r of square s. Lane 4 g + t gets two
/// numbers of row g, or of column g.
template <bool transposed>
void load_squares(std::span<Thread> warp, const Instruction& i) {
  constexpr std::uint32_t bytes = 16;
  std::array<std::array<std::array<std::uint16_t, 8>, 8>, 4> squares{};
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    Thread& thread = warp[lane];
    const std::uint64_t address =
        (thread.registers[i.at[4]] + static_cast<std::uint64_t>(i.offset[0])) & 0xFFFFFFFFU;
    if (address % bytes != 0) throw std::runtime_error("misaligned address");
    if (address + bytes > thread.grid->kernel.shared_bytes) {
      throw std::runtime_error("address out of bounds");
    }
    std::memcpy(squares[lane / 8][lane % 8].data(), thread.shared + address, bytes);
  }
  for (std::size_t lane = 0; lane < warp.size(); ++lane) {
    for (std::size_t square = 0; square < squares.size(); ++square) {
      const auto number = [&](std::size_t which) -> std::uint32_t {
        const std::size_t along = lane % 4 * 2 + which;
        return transposed ? squares[square][along][lane / 4] : squares[square][lane / 4][along];
      };
      put<std::uint32_t>(warp[lane], i.at[square], number(0) | number(1) << 16U);
    }
  }
}

const std::map<std::string, WarpOperation, std::less<>>& warp_operations() {
  static const std::map<std::string, WarpOperation, std::less<>> all = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", multiply},
      {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", load_squares<false>},
      {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", load_squares<true>}};
  return all;
}

}  // namespace

WarpOperation warp_operation(std::string_view name) {
  const auto found = warp_operations().find(name);
  return found == warp_operations().end() ? nullptr : found->second;
}

void add_warps(Operations& all) {
  for (const auto& [name, operation] : warp_operations()) all[name] = wait_for_warp;
}

}  // namespace penstock::testing::ptx
