#include "apps/cli/backend.h"

#include <fmt/format.h>
#include <stdlib.h>

#include "apps/cli/argument_values.h"
#include "apps/cli/server_backend.h"
#include "apps/cli/store_backend.h"

namespace holdfast::cli {

namespace {

std::string variable(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// From HOLDFAST_TOKEN or a file, never from an argument: every user of the machine can list those.
Result<std::string> token_of(const std::string& file) {
  if (file.empty()) {
    return variable("HOLDFAST_TOKEN");
  }
  HOLDFAST_TRY(std::string token, read_file_argument(file));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) {
    token.pop_back();
  }
  if (!parse_bearer(token).has_value()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} does not contain a token: expected one line that begins with hf_, "
                             "as `holdfast token create` prints it",
                             file)}
        .with("field", "token-file");
  }
  return token;
}

// What the command line names, so that a command can be copied as it is shown.
std::string server_suffix(const BackendOptions& options) {
  std::string suffix;
  const auto add = [&](const char* option, const std::string& value) {
    suffix += value.empty() ? "" : fmt::format(" {} {}", option, shell_word(value));
  };
  add("--server", options.server);
  add("--token-file", options.token_file);
  add("--tls-ca", options.tls_ca);
  return suffix;
}

Result<BackendName> named_server(const BackendOptions& options, const std::string& url) {
  NamedServer server{url, server_suffix(options)};
  HOLDFAST_TRY(server.token, token_of(options.token_file));
  server.tls_ca = options.tls_ca.empty() ? variable("HOLDFAST_TLS_CA") : options.tls_ca;
  return BackendName(std::move(server));
}

}  // namespace

Result<BackendName> resolve_backend(const BackendOptions& options) {
  if (!options.store.empty() && !options.server.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "--store and --server cannot be combined: a server has its own store"};
  }
  const std::string server = options.store.empty() && options.server.empty()
                                 ? variable("HOLDFAST_SERVER")
                                 : options.server;
  if (!server.empty()) {
    return named_server(options, server);
  }
  if (!options.token_file.empty() || !options.tls_ca.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "--token-file and --tls-ca need a server; name one with --server or "
                 "HOLDFAST_SERVER"};
  }
  return BackendName(store_of(options.store));
}

Result<std::unique_ptr<Backend>> open_backend(const BackendOptions& options, Context& context) {
  HOLDFAST_TRY(const BackendName named, resolve_backend(options));
  if (const auto* const server = std::get_if<NamedServer>(&named)) {
    HOLDFAST_TRY(auto backend, ServerBackend::open(*server, context));
    return std::unique_ptr<Backend>(std::move(backend));
  }
  return std::unique_ptr<Backend>(
      std::make_unique<StoreBackend>(std::get<NamedStore>(named), context));
}

Result<std::string> Backend::json(const Query& query) {
  HOLDFAST_TRY(Answer found, answer(query, Form::json));
  return std::move(found.text);
}

Error with_advice(const Error& error, const Backend& backend) {
  if (error.code() == ErrorCode::run_not_found) {
    return advised(error, fmt::format("`holdfast list{}` lists the runs", backend.suffix()));
  }
  if (error.field("field") == "cursor") {
    return advised(error,
                   "repeat the options of the page that printed it, or omit --cursor to start with "
                   "the first page");
  }
  return error;
}

}  // namespace holdfast::cli
