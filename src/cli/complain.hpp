#pragma once
#include <c10/util/Exception.h>

#include <string>

namespace heed::cli {

/// Prints the message on one line and ends the other ranks, if there are any. Where all fail alike
/// the first speaks, and has ended the others before they do. Returns `code`, for main.
int complain(const std::string& message, int code = 2);
/// The same before a command has begun: all ranks are called alike, and none has started MPI yet.
int complain_of_usage(const std::string& message);
/// `wanted`: the bytes that could not be had; 0 when that is not known.
int complain_of_memory(double wanted);
/// An error of torch: its first line, or that memory is short.
int complain_of_torch(const c10::Error& error);

}  // namespace heed::cli
