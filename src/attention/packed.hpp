#pragma once
#include "attention/reference.hpp"

namespace heed {

/// A packed call, entry by entry, in plain tensor operations.
AttendResult packed_reference(const CheckedCall& call);

}  // namespace heed
