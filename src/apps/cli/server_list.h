// Commands that list what only a server knows: its queues, workers, schedules and approvals.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/backend_commands.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

struct ServerList {
  std::unique_ptr<Backend> backend;
  std::vector<Json> rows;
};

// Prints the list: as JSON the response of the server, as text what `print` does with it. name: of
// the list in the response.
template <typename Print>
Result<void> print_server_list(const BackendOptions& options, const Query& request,
                               std::string_view name, Context& context, const Print& print) {
  ServerList list;
  HOLDFAST_TRY(list.backend, open_backend(options, context));
  HOLDFAST_TRY(const std::string body, list.backend->json(request));
  if (context.json()) {
    print_body(context, body);
    return {};
  }
  HOLDFAST_TRY(const Json json, Json::parse(body));
  list.rows = rows_of(json, name);
  print(list);
  return {};
}

}  // namespace holdfast::cli
