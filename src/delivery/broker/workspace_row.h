// How a workspace is read from its row: the columns, and the struct made from them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "delivery/broker/broker_directory.h"
#include "delivery/broker/sql_session.h"

namespace holdfast::delivery {

// Of a relation w.
inline constexpr std::string_view kWorkspaceColumns =
    "w.mesh_id, w.slug, w.body_form, w.dedupe_mode, w.dedupe_retention_days, "
    "w.message_retention_days, w.rate_limit_per_window, w.window_seconds, w.max_inline_bytes";
inline constexpr std::size_t kWorkspaceColumnCount = 9;

// From the first cells of a row.
Workspace workspace_of(const std::vector<SqlCell>& row);

}  // namespace holdfast::delivery
