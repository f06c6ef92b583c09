#pragma once

namespace heed::kernels::testing {

/// Where the processor has AVX-512 BF16 but no AMX, executes AMX's instructions in software when
/// they trap, and makes "amx" one of simd_targets(): so the very code of that target is tested on
/// such a machine, slowly. Does nothing elsewhere. Returns whether it did.
bool emulate_tiles();

}  // namespace heed::kernels::testing
