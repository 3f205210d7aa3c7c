#pragma once

#include <string>

#include "sim/base/error.hpp"

namespace penstock {

/// Runs a step that knows only the part of a document below `where`, and puts `where` in front of
/// the place of its errors.
template <class Step>
auto below(const std::string& where, Step step) {
  try {
    return step();
  } catch (const InputError& error) {
    throw InputError(where + error.where(), error.what());
  }
}

}  // namespace penstock
