#pragma once

#include <cstdint>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// By model stage: whether an order's cells exchange what it puts out; empty: they exchange
/// nothing.
std::vector<bool> exchanges_in(const std::vector<std::vector<CommCell>>& rows,
                               const Placement& placement);

/// Whether a model stage and the next one are on the same ranks, in each copy of the model.
bool stays_on_rank(const Placement& placement, std::size_t stage);

/// Makes what layers hand on by an exchange part of their passes, unless a stage ends with it and
/// the next one is on the same rank.
void keep_exchanges_inside(Layout& layout);

/// By model stage of a settled layout: whether what it puts out is exchanged apart; empty: none is.
std::vector<bool> exchanges_of(const Layout& layout);

/// Stages of a copy of the model that are further pieces of one: those of blocks are cut at their
/// exchanges, stages that state their times stay as they are.
std::uint32_t further_pieces(const Layout& layout);

/// By model stage: the first of the stages that these exchanges join it to; empty without any.
std::vector<std::uint32_t> first_pieces(const std::vector<bool>& exchanges);

/// Adds the exchanges behind these model stages to the rows of an order, each right behind the
/// action whose output it exchanges.
void add_exchanges(const std::vector<bool>& exchanges, const Schedule& schedule,
                   const Placement& placement, Communication& communication);

/// The same for those of a layout; an order that has EXCHANGEs must have all of them. Throws
/// InputError with a pointer into the scenario.
void write_exchanges(Layout& layout);

/// What an order of a layout is written with: its communication, or else its exchanges alone, by
/// which the pieces of its stages are known.
Communication cells_to_write(const Layout& layout);

}  // namespace penstock
