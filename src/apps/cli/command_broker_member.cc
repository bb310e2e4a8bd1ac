#include <fmt/format.h>
#include <unistd.h>

#include "apps/cli/broker_backend.h"
#include "apps/cli/cli_store.h"
#include "apps/cli/cli_terminal.h"
#include "apps/cli/command.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

constexpr const char* kDefaultBrokerUrl = "http://127.0.0.1:7718";

struct MemberCreateCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string name = {};
  std::string pubkey = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("NAME", name, "the display name of the member");
    arguments.option("--pubkey", "HEX", pubkey,
                     "Public key of the member, 64 hex digits (default: a random one, which is "
                     "enough unless bodies are encrypted)");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    JsonWriter json;
    json.begin_object().member("name", name);
    if (!pubkey.empty()) {
      json.member("pubkey", pubkey);
    }
    json.end_object();
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", workspace_path(workspace, "/members"), std::move(json).take()},
        [&](const Json& made, const BrokerBackend& /*backend*/) {
          print_line(context, JsonRow(made).text("token"));
          context.out.flush();
          if (is_terminal(STDERR_FILENO)) {
            fmt::print(stderr, "the token is shown only once; {} is addressed as dm {}\n", name,
                       JsonRow(made).text("pubkey"));
          }
        });
  }
};

struct MemberInviteCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string url = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.option("--url", "URL", url,
                     "URL under which the new member reaches the broker (default: that of "
                     "--broker, else http://127.0.0.1:7718)");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing,
        {"POST", workspace_path(workspace, "/invitations"), "{}"},
        [&](const Json& made, const BrokerBackend& backend) {
          const std::string base = !url.empty()            ? url
                                   : backend.url().empty() ? kDefaultBrokerUrl
                                                           : backend.url();
          print_line(context, fmt::format("{}/join#{}", base, JsonRow(made).text("invitation")));
          context.out.flush();
          if (is_terminal(STDERR_FILENO)) {
            fmt::print(stderr, "the link is shown only once and can be used once, until {}\n",
                       JsonRow(made).time("expires_at"));
          }
        });
  }
};

struct MemberListCommand {
  BrokerOptions broker = {};
  std::string workspace = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing, {"GET", workspace_path(workspace, "/members"), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          const std::vector<Json> rows = rows_of(json, "members");
          if (rows.empty()) {
            print_line(context, fmt::format("no members; `holdfast broker member create {} NAME` "
                                            "creates the first",
                                            workspace));
            return;
          }
          Table table({{"NAME"}, {"STATE"}, {"PUBLIC KEY"}, {"CREATED", {}, 0, true}});
          for (const Json& item : rows) {
            const JsonRow row(item);
            const bool revoked = item.find("revoked_at").has_value();
            table.add({{row.text("name")},
                       {revoked ? "revoked" : "member", revoked ? Ink::dim : Ink::green},
                       {row.text("pubkey")},
                       {row.time("created_at")}});
          }
          context.out << table.text(style_of(""));
        });
  }
};

struct MemberRevokeCommand {
  BrokerOptions broker = {};
  std::string workspace = {};
  std::string member = {};

  void declare(Arguments& arguments) {
    arguments.required("WORKSPACE", workspace, "the name of the workspace");
    arguments.required("MEMBER", member, "the member: its display name or public key");
    add_broker_backend(arguments, broker);
  }

  Result<void> run(Context& context) const {
    return administer_broker(
        broker, context, StoreUse::existing,
        {"DELETE", workspace_path(workspace, "/members" + path_part(member)), ""},
        [&](const Json& json, const BrokerBackend& /*backend*/) {
          print_line(context, fmt::format("{} is revoked", JsonRow(json).text("name")));
        });
  }
};

}  // namespace

extern const Command kBrokerMemberCreateCommand = make_command<MemberCreateCommand>(
    "broker member create", "Create a member and print its token; it is shown only once.",
    R"(The store keeps only a hash of the token. The member sends it with every request, in the
header Authorization: Bearer TOKEN.

Examples:
  holdfast broker member create team ann > ann.token
  holdfast broker member create team ben --json)");

extern const Command kBrokerMemberInviteCommand = make_command<MemberInviteCommand>(
    "broker member invite", "Print a link with which one program can become a member.",
    R"(The link can be used once, within 24 hours. The program that uses it chooses its name and its
public key, and gets its token. The store keeps only a hash of the link's secret, which is the part
behind '#'.

Examples:
  holdfast broker member invite team
  holdfast broker member invite team --url https://broker.example)");

extern const Command kBrokerMemberListCommand = make_command<MemberListCommand>(
    "broker member list", "List the members of a workspace. Tokens are not shown.",
    R"(Examples:
  holdfast broker member list team
  holdfast broker member list team --json | jq '.members[].pubkey')");

extern const Command kBrokerMemberRevokeCommand = make_command<MemberRevokeCommand>(
    "broker member revoke", "End a membership: its token and subscriptions end at once.",
    R"(What the member sent stays. Its name and key are not given to another member.

Examples:
  holdfast broker member revoke team ann)");

}  // namespace holdfast::cli
