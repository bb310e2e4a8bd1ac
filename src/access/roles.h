// Who may do what: a table of roles and permissions. docs/http-api.md shows it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/fields.h"

namespace holdfast {

enum class Role : std::uint8_t { viewer, client, worker, operator_, admin };
template <>
inline constexpr std::string_view kEnumNames<Role>[] = {"viewer", "client", "worker", "operator",
                                                        "admin"};

HOLDFAST_ENUM(Permission, look, start, steer, define, work, administer);

bool allows(Role role, Permission permission);

}  // namespace holdfast
