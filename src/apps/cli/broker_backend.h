// BrokerBackend: the broker that a command administers: a store that this program opens itself, or
// a broker that runs. Both take the same requests and give the same JSON.
//
// Which one: --store or --broker, then HOLDFAST_BROKER, then HOLDFAST_BROKER_STORE, then
// sqlite:broker.db.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apps/cli/arguments.h"
#include "apps/cli/cli_context.h"
#include "base/json_value.h"
#include "holdfast/result.h"

namespace holdfast::cli {

struct BrokerOptions {
  std::string store = {};
  std::string broker = {};      // URL
  std::string token_file = {};  // of the administrator
  std::string tls_ca = {};
};

// --store alone, and all of them.
void add_broker_store(Arguments& arguments, std::string& store);
void add_broker_backend(Arguments& arguments, BrokerOptions& options);

// The option, HOLDFAST_BROKER_STORE, or sqlite:broker.db.
std::string broker_store_of(const std::string& option);
// The token in a file: one line. invalid_argument when it is empty or has spaces.
Result<std::string> read_token_file(const std::string& file);

// Whether a command may create the store.
enum class StoreUse : std::uint8_t { create, existing };

class BrokerBackend {
 public:
  BrokerBackend() = default;
  BrokerBackend(const BrokerBackend&) = delete;
  BrokerBackend& operator=(const BrokerBackend&) = delete;
  virtual ~BrokerBackend() = default;

  struct Call {
    std::string_view method = "GET";
    std::string path = {};  // percent-encoded, with its query
    std::string body = {};  // JSON
  };
  // The JSON of the response. The errors of the broker, and `unavailable`.
  virtual Result<std::string> send(const Call& call) = 0;
  // The URL of the broker; empty of a store.
  [[nodiscard]] virtual std::string url() const = 0;
};

// not_found when the store must exist and does not; busy when a broker has the file open.
Result<std::unique_ptr<BrokerBackend>> open_broker_backend(const BrokerOptions& options,
                                                           Context& context, StoreUse use);

// /v1/workspaces/NAME and what follows it, percent-encoded.
std::string workspace_path(std::string_view workspace, std::string_view rest = {});
// "/" and the name, percent-encoded.
std::string path_part(std::string_view name);

// Sends the call, and prints the JSON with --json; otherwise `show` prints it.
template <typename Show>
Result<void> administer_broker(const BrokerOptions& options, Context& context, StoreUse use,
                               const BrokerBackend::Call& call, const Show& show) {
  HOLDFAST_TRY(const auto backend, open_broker_backend(options, context, use));
  HOLDFAST_TRY(const std::string body, backend->send(call));
  if (context.json()) {
    print_body(context, body);
    return {};
  }
  HOLDFAST_TRY(const Json json, Json::parse(body));
  show(json, *backend);
  return {};
}

}  // namespace holdfast::cli
