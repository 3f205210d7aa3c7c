#pragma once

#include <QStringList>

#include "tests/support/scratch.hpp"

namespace penstock::monkey {

/// Writes files of every kind that the viewer opens: whole ones, and cut off, damaged, empty and
/// absent ones. Their paths.
QStringList strange_files(const testing::Scratch& folder);

}  // namespace penstock::monkey
