#include "delivery/broker/workspace_row.h"

#include "holdfast/assert.h"

namespace holdfast::delivery {

Workspace workspace_of(const std::vector<SqlCell>& row) {
  HOLDFAST_ASSERT(row.size() >= kWorkspaceColumnCount);
  return {.mesh_id = row[0].bytes,
          .slug = row[1].bytes,
          .body_form = enum_from<BodyForm>(row[2].bytes).value_or(BodyForm::plain),
          .dedupe = {enum_from<DedupeMode>(row[3].bytes).value_or(DedupeMode::retention_scoped),
                     static_cast<std::uint32_t>(row[4].integer)},
          .message_retention_days = static_cast<std::uint32_t>(row[5].integer),
          .rate_limit_per_window = static_cast<std::uint64_t>(row[6].integer),
          .window_seconds = static_cast<std::uint32_t>(row[7].integer),
          .max_inline_bytes = static_cast<std::uint64_t>(row[8].integer)};
}

}  // namespace holdfast::delivery
