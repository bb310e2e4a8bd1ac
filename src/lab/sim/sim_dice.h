// Dice: every random choice of the simulator. A number depends only on the seed and on the label of
// the choice, so leaving out one event changes no other choice. That is what makes it possible to
// shorten failing simulations. Labels are part of a seed's behaviour: another label is another
// choice.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::sim {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::uint64_t number(std::string_view label, std::uint64_t which = 0) const {
    std::uint64_t hash = mix(seed_ ^ 0x9e3779b97f4a7c15U);
    for (const char letter : label) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
    }
    return mix(hash ^ mix(which + 0x2545f4914f6cdd1dU));
  }
  // In [0, bound); bound must not be 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, std::string_view label,
                                    std::uint64_t which = 0) const {
    return number(label, which) % bound;
  }
  [[nodiscard]] bool chance(std::uint64_t percent, std::string_view label,
                            std::uint64_t which = 0) const {
    return below(100, label, which) < percent;
  }
  // Independent dice for one subject.
  [[nodiscard]] Dice about(std::string_view subject, std::uint64_t which = 0) const {
    return Dice(number(subject, which));
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }

  std::uint64_t seed_;
};

}  // namespace holdfast::sim
