// What `holdfast broker serve` and `holdfast server --broker` share: the options of a broker that
// serves, and how it is announced.
#pragma once

#include <string>
#include <vector>

#include "apps/broker/broker_server.h"
#include "apps/cli/arguments.h"
#include "apps/cli/cli_context.h"
#include "holdfast/result.h"

namespace holdfast::cli {

struct BrokerServing {
  std::string limiter = "memory";
  bool single = false;
  std::vector<std::string> listen = {};  // empty: the default address
  std::string admin_token_file = {};
  std::string connections = "prefer_newest";
  std::vector<std::string> origins = {};
  std::vector<std::string> webhook_allow = {};
  std::string webhook_ca = {};

  // With names that begin with `prefix`: "--" or "--broker-".
  void declare(Arguments& arguments, const std::string& prefix);
  [[nodiscard]] std::vector<std::string> addresses() const;
  // Of a broker on the store.
  [[nodiscard]] Result<delivery::BrokerHostOptions> host_options(const std::string& store) const;
};

// member: of each line with --json.
void announce_broker(const delivery::BrokerServer& server, const char* member, ServerLog& logger,
                     Context& context);

}  // namespace holdfast::cli
