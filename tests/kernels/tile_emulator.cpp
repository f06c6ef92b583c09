// AMX in software. A processor without it raises SIGILL at its instructions; the handler decodes
// the one at hand, does what the manual says to tiles kept in memory, and goes on behind it. (Intel
// 64 Architectures Software Developer's Manual, volume 2, TDPBF16PS and the TILE instructions.)
#include "kernels/tile_emulator.hpp"

#include "heed/kernels/simd.hpp"
#include "kernels/simd_internal.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#include <signal.h>
#include <ucontext.h>

#include <bit>
#include <cstdint>
#include <cstring>

namespace heed::kernels::testing {
namespace {

constexpr int kTiles = 8, kMostRows = 16, kRowBytes = 64, kColumns = kRowBytes / 4;

struct Tile {
  int rows, row_bytes;
  alignas(64) std::uint8_t data[kMostRows][kRowBytes];
};

struct Tiles {
  bool configured = false;
  Tile tile[kTiles];
};
thread_local Tiles tiles;

void configure(const std::uint8_t* config) {
  tiles = {};
  tiles.configured = config[0] == 1;
  for (int i = 0; i < kTiles; ++i) {
    std::uint16_t row_bytes;
    std::memcpy(&row_bytes, config + 16 + 2 * i, 2);
    tiles.tile[i].row_bytes = row_bytes;
    tiles.tile[i].rows = config[48 + i];
  }
}

/// The low (part 0) or high half of a pair of bfloat16, as a number.
float half_of(const std::uint8_t* pair, int part) {
  std::uint32_t bits;
  std::memcpy(&bits, pair, 4);
  return std::bit_cast<float>(part == 0 ? bits << 16 : bits & 0xFFFF0000u);
}

/// sum += a * b of bfloat16 pairs: even and odd products in chains of their own, which are added at
/// the end; subnormal numbers are zero.
__attribute__((target("avx2,fma"), optimize("O3"))) void multiply_add(Tile& sum, const Tile& a,
                                                                      const Tile& b) {
  _mm_setcsr(0x9FC0);
  for (int m = 0; m < sum.rows; ++m) {
    float chain[2][kColumns] = {};
    for (int k = 0; k < a.row_bytes / 4; ++k) {
      for (int part = 0; part < 2; ++part) {
        const float factor = half_of(a.data[m] + 4 * k, part);
        for (int n = 0; n < kColumns; ++n) {
          chain[part][n] = __builtin_fmaf(factor, half_of(b.data[k] + 4 * n, part), chain[part][n]);
        }
      }
    }
    auto* to = reinterpret_cast<float*>(sum.data[m]);
    for (int n = 0; n < kColumns; ++n) to[n] += chain[0][n] + chain[1][n];
  }
}

/// An instruction of the VEX map 0F38 that begins at `code`.
struct Instruction {
  explicit Instruction(const std::uint8_t* code)
      : vex(code[0] == 0xC4 && (code[1] & 0x1F) == 2),
        flip(static_cast<std::uint8_t>(~code[1])),
        prefix(code[2] & 3),
        third(~code[2] >> 3 & 15),
        opcode(code[3]),
        mod(code[4] >> 6),
        reg(code[4] >> 3 & 7),
        rm(code[4] & 7),
        behind(code + 5) {}

  bool vex;
  std::uint8_t flip;  // R, X, B: bits 7, 6, 5
  int prefix, third, opcode, mod, reg, rm;
  const std::uint8_t* behind;  // first byte after what was read so far
};

struct Address {
  std::uint8_t* at;
  std::int64_t stride;  // of tile loads and stores: the index register, scaled
};

/// Reads the address bytes of `i` and moves `behind` past them.
Address address_of(Instruction& i, const greg_t* registers) {
  static constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                     REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                     REG_R12, REG_R13, REG_R14, REG_R15};
  const auto value = [&](int number) { return registers[kOrder[number]]; };
  int base = i.rm;
  std::int64_t stride = 0;
  if (i.rm == 4) {
    const std::uint8_t sib = *i.behind++;
    base = sib & 7;
    const int index = (sib >> 3 & 7) + (i.flip & 0x40 ? 8 : 0);
    if (index != 4) stride = value(index) << (sib >> 6);
  }
  std::int64_t at = value(base + (i.flip & 0x20 ? 8 : 0));
  if (i.mod == 1) at += static_cast<std::int8_t>(*i.behind++);
  if (i.mod == 2) {
    std::int32_t offset;
    std::memcpy(&offset, i.behind, 4);
    i.behind += 4;
    at += offset;
  }
  return {reinterpret_cast<std::uint8_t*>(at), stride};
}

/// Executes one instruction; false: it is none of AMX's, or not allowed.
bool execute(Instruction& i, const greg_t* registers) {
  if (!i.vex) return false;
  const bool memory = i.mod != 3;
  if (i.opcode == 0x49 && i.prefix == 0 && memory && !(i.mod == 0 && i.rm == 5)) {
    return configure(address_of(i, registers).at), true;  // ldtilecfg
  }
  if (i.opcode == 0x49 && i.prefix == 0 && !memory) return tiles.configured = false, true;
  if (!tiles.configured) return false;
  if (i.opcode == 0x49 && i.prefix == 3 && !memory) {  // tilezero
    std::memset(tiles.tile[i.reg].data, 0, sizeof(Tile::data));
    return true;
  }
  if (i.opcode == 0x4B && (i.prefix == 2 || i.prefix == 3) && memory && i.rm == 4) {
    const Address from = address_of(i, registers);
    Tile& tile = tiles.tile[i.reg];
    const auto bytes = static_cast<std::size_t>(tile.row_bytes);
    for (int r = 0; r < tile.rows; ++r) {
      std::uint8_t* row = from.at + r * from.stride;
      if (i.prefix == 3) {  // tileloadd
        std::memcpy(tile.data[r], row, bytes);
      } else {  // tilestored
        std::memcpy(row, tile.data[r], bytes);
      }
    }
    return true;
  }
  if (i.opcode == 0x5C && i.prefix == 2 && !memory) {  // tdpbf16ps
    multiply_add(tiles.tile[i.reg], tiles.tile[i.rm], tiles.tile[i.third]);
    return true;
  }
  return false;
}

void on_illegal_instruction(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Instruction instruction(reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]));
  if (execute(instruction, registers)) {
    registers[REG_RIP] = reinterpret_cast<greg_t>(instruction.behind);
    return;
  }
  signal(SIGILL, SIG_DFL);  // it is met again, and ends the program
}

}  // namespace

bool emulate_tiles() {
  if (simd_targets().front() != "avx512bf16") return false;
  struct sigaction action {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGILL, &action, nullptr) != 0) return false;
  assume_tiles();
  return simd_targets().front() == "amx";
}

}  // namespace heed::kernels::testing
#else
namespace heed::kernels::testing {
bool emulate_tiles() { return false; }
}  // namespace heed::kernels::testing
#endif
