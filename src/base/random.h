// Randomness enters the system only through Random, so that a seed can repeat a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast {

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::byte> bytes) = 0;

  std::uint64_t next_u64();
  // Uniform in [0, bound). bound must not be 0.
  std::uint64_t below(std::uint64_t bound);
};

// The operating system's generator. Suitable for secrets. Thread-safe.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::byte> bytes) override;
};

// xoshiro256**: the same seed gives the same bytes on every machine. Never for secrets.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  void fill(std::span<std::byte> bytes) override;

 private:
  std::uint64_t step();

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace holdfast
