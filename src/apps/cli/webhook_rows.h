// What the commands on webhooks share.
#pragma once

#include <string>
#include <string_view>

#include "apps/cli/arguments.h"
#include "apps/cli/broker_backend.h"

namespace holdfast::cli {

struct WebhookName {
  std::string workspace = {};
  std::string webhook = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("WEBHOOK", webhook, "the id of the webhook");
  }
  [[nodiscard]] std::string path(std::string_view rest = {}) const {
    return workspace_path(workspace, "/webhooks" + path_part(webhook) + std::string(rest));
  }
};

}  // namespace holdfast::cli
