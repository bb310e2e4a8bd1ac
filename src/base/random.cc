#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>

#include "holdfast/assert.h"

namespace holdfast {

std::uint64_t Random::next_u64() {
  std::array<std::byte, 8> bytes;
  fill(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8U) | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return value;
}

std::uint64_t Random::below(std::uint64_t bound) {
  HOLDFAST_ASSERT(bound != 0);
  // Values under the threshold would favour small results; draw again.
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t value = next_u64();
    if (value >= threshold) {
      return value % bound;
    }
  }
}

void SystemRandom::fill(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0) {
      HOLDFAST_ASSERT(errno == EINTR);
      continue;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

SeededRandom::SeededRandom(std::uint64_t seed) {
  // splitmix64 spreads the seed over the whole state, which must not be all zero.
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    word = mixed ^ (mixed >> 31U);
  }
}

std::uint64_t SeededRandom::step() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

void SeededRandom::fill(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    std::uint64_t word = step();
    const std::size_t count = bytes.size() < 8 ? bytes.size() : 8;
    for (std::size_t i = 0; i < count; ++i) {
      bytes[i] = static_cast<std::byte>(word & 0xffU);
      word >>= 8U;
    }
    bytes = bytes.subspan(count);
  }
}

}  // namespace holdfast
