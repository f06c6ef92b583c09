#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace heed {

/// Bytes this process may still take: what the machine has free, or, if less, what its control
/// group or `ulimit -v` leaves. HEED_MEMORY (bytes) overrides it. The greatest number when neither
/// can be told.
std::uint64_t available_memory();

/// The most bytes of memory this program held at once since it started; 0 when it cannot be told.
/// Not getrusage's number, which a new program inherits from the one that started it.
std::uint64_t peak_memory();

/// Gives what is free inside the allocator back to the machine: worth it once before work of
/// another kind, as the pages are taken anew where they are needed again.
void give_back_memory();

/// InputError when that many bytes are more than is free, before they are taken: "`who`: `sizes`
/// need 3.2 GiB, and 1.0 GiB are free; `cure`". `sizes` is told only then.
void check_room(double bytes, const char* who, const std::function<std::string()>& sizes,
                const std::string& cure);

/// "3.2 GiB", for messages.
std::string memory_text(double bytes);

}  // namespace heed
