#include <fmt/format.h>

#include "apps/cli/broker_backend.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"

namespace holdfast::cli {

namespace {

struct MessageRedactCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string message = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("MESSAGE", message, "the broker's id of the message");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", workspace_path(workspace, "/messages" + path_part(message) + "/redaction"), "{}"},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("the content of message {} is removed",
                                          JsonRow(json).text("broker_message_id")));
        });
  }
};

}  // namespace

extern const Command kBrokerMessageRedactCommand = make_command<MessageRedactCommand>(
    "broker message redact", "Remove the content of a message that was accepted.",
    R"(Body and meta are deleted for good, and the message is marked in its history. Its number,
deliveries and mentions stay, and its sender still gets the same answer for a repeat. What a member
has received already is not affected.

Examples:
  holdfast broker message redact team 01JD3ZK8Q6X4T2V9B7N5M1C0RA)");

}  // namespace holdfast::cli
