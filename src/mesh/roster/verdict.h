// The verdict on one operation. It is a function of the set of known operations and changes as
// the set grows; no verdict removes an operation from the set.
#pragma once

#include <optional>
#include <string>

#include "mesh/capabilities/capability.h"
#include "mesh/ops/reason.h"

namespace holdfast::mesh {

enum class Outcome : std::uint8_t {
  applied,
  noop,      // valid, and nothing was left to do
  void_,     // authorised, and the state at its time refused it
  deferred,  // waits for another operation
  parked,    // no chain of its author admits it
  rejected,  // breaks a rule that no other operation can repair
};

struct Verdict {
  Outcome outcome = Outcome::deferred;
  Reason reason = Reason::none;
  std::optional<Caveat> caveat;  // of caveat_failed

  // Other operations may depend on it.
  [[nodiscard]] bool is_effective() const {
    return outcome == Outcome::applied || outcome == Outcome::noop;
  }
  bool operator==(const Verdict&) const = default;
};

inline Verdict applied() { return {Outcome::applied, Reason::none, {}}; }
inline Verdict noop() { return {Outcome::noop, Reason::none, {}}; }
inline Verdict voided(Reason reason) { return {Outcome::void_, reason, {}}; }
inline Verdict deferred(Reason reason) { return {Outcome::deferred, reason, {}}; }
inline Verdict parked(Reason reason) { return {Outcome::parked, reason, {}}; }
inline Verdict rejected(Reason reason) { return {Outcome::rejected, reason, {}}; }

// "applied", "void already_claimed", "parked caveat_failed(kind_prefix)"
std::string to_text(const Verdict& verdict);

}  // namespace holdfast::mesh

namespace holdfast {

template <>
inline constexpr std::string_view kEnumNames<mesh::Outcome>[] = {"applied",  "noop",   "void",
                                                                 "deferred", "parked", "rejected"};

}  // namespace holdfast
