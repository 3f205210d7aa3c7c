#pragma once

#include <string>

namespace penstock {

/// A complete scenario without files: four stages by numbers on ideal hardware, with a description
/// in each section.
std::string small_starter();

}  // namespace penstock
