#include "access/roles.h"

#include <array>

namespace holdfast {

bool allows(Role role, Permission permission) {
  // A row for each role; columns: look, start, steer, define, work, administer.
  static constexpr std::array<std::array<bool, 6>, 5> kAllowed{{
      {true, false, false, false, false, false},  // viewer
      {true, true, false, false, false, false},   // client
      {false, false, false, false, true, false},  // worker
      {true, true, true, true, false, false},     // operator
      {true, true, true, true, true, true},       // admin
  }};
  return kAllowed[static_cast<std::size_t>(role)][static_cast<std::size_t>(permission)];
}

}  // namespace holdfast
