#include <fmt/format.h>

#include "apps/cli/backend_commands.h"
#include "runs/view/view_words.h"

namespace holdfast::cli {

namespace {

struct TokenRevokeCommand {
  BackendOptions backend = {};
  RevokeToken request = {};

  void declare(Arguments& arguments) {
    add_backend(arguments, backend);
    arguments.required("ID", request.id, "the id of the token, not the token itself");
  }

  Result<void> run(Context& context) const {
    HOLDFAST_TRY(const auto opened, open_backend(backend, context));
    const auto revoked = opened->administer(request);
    if (!revoked.ok()) {
      return revoked.error().code() == ErrorCode::not_found
                 ? advised(revoked.error(), fmt::format("`holdfast token list{}` lists the tokens",
                                                        opened->suffix()))
                 : revoked.error();
    }
    print_result(context, fmt::format("token {} is revoked", harmless(request.id)),
                 [&](JsonWriter& json) { json.member("id", request.id).member("revoked", true); });
    return {};
  }
};

}  // namespace

extern const Command kTokenRevokeCommand = make_command<TokenRevokeCommand>(
    "token revoke", "Revoke a token: requests with it are rejected from now on.",
    R"(ID is the first part of a token, between hf_ and the next _; `holdfast token list` shows
it.

Examples:
  holdfast token revoke 3f2a9c41d07b5e6688aa12cd)");

}  // namespace holdfast::cli
