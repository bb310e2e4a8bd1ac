#include "apps/cli/backend_commands.h"
#include "apps/cli/json_rows.h"
#include "apps/terminal/text_table.h"

namespace holdfast::cli {

namespace {

std::string state_of(const Json& token) {
  if (JsonRow(token).truth("valid")) {
    return "valid";
  }
  return token.find("revoked_at").has_value() ? "revoked" : "expired";
}

struct TokenListCommand {
  BackendOptions backend = {};

  void declare(Arguments& arguments) { add_backend(arguments, backend); }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    HOLDFAST_TRY(const std::string listed, opened->json(TokensRequest{}));
    if (context.json()) {
      print_body(context, listed);
      return {};
    }
    HOLDFAST_TRY(const Json json, Json::parse(listed));
    const std::vector<Json> rows = rows_of(json, "tokens");
    if (rows.empty()) {
      print_line(context,
                 "no tokens: authentication is off, and every user of the server's machine has "
                 "full access; `holdfast token create` creates the first");
      return {};
    }
    Table table({{"ID"},
                 {"NAME", {}, 8},
                 {"ROLE"},
                 {"STATE"},
                 {"EXPIRES"},
                 {"QUEUES", {}, 8, true},
                 {"WORKFLOWS", {}, 8, true},
                 {"CREATED", {}, 0, true}});
    for (const Json& item : rows) {
      const JsonRow row(item);
      table.add({{row.text("id")},
                 {row.text("name")},
                 {row.text("role")},
                 {state_of(item), row.truth("valid") ? Ink::green : Ink::dim},
                 {row.time("expires_at")},
                 {row.names("queues")},
                 {row.names("workflows")},
                 {row.time("created_at")}});
    }
    context.out << table.text(opened->style());
    return {};
  }
};

}  // namespace

extern const Command kTokenListCommand = make_command<TokenListCommand>(
    "token list", "List tokens with their roles and expiry. Secrets are not shown.",
    R"(Examples:
  holdfast token list
  holdfast token list --json | jq '.tokens[] | select(.valid)')");

}  // namespace holdfast::cli
