#include "apps/cli/broker_serving.h"

#include "apps/cli/broker_backend.h"
#include "holdfast/assert.h"

namespace holdfast::cli {

namespace {

constexpr const char* kBrokerListen = "127.0.0.1:7718";

}  // namespace

void BrokerServing::declare(Arguments& arguments, const std::string& prefix) {
  arguments.option((prefix + "limiter").c_str(), "LIMITER", limiter,
                   "Rate limiter: memory, memory:PATH for the file of its counters, or "
                   "redis://HOST:PORT/DB (default: memory, beside the store)");
  arguments.flag((prefix + "single").c_str(), single,
                 "This is the only broker on a PostgreSQL store (the limiter memory needs it)");
  arguments.option((prefix + "listen").c_str(), "HOST:PORT", listen,
                   "Address to listen on; may be given several times (default: 127.0.0.1:7718)");
  arguments.option((prefix + "admin-token-file").c_str(), "FILE", admin_token_file,
                   "File that holds the token of the administrator (default: none)");
  arguments.option((prefix + "connections").c_str(), "POLICY", connections,
                   "When a member connects a second time to receive: prefer_newest, prefer_oldest "
                   "or allow_concurrent (default: prefer_newest)");
  arguments.restrict_to((prefix + "connections").c_str(),
                        {"prefer_newest", "prefer_oldest", "allow_concurrent"});
  arguments.option((prefix + "origin").c_str(), "ORIGIN", origins,
                   "Origin of web pages that may receive, such as https://app.example; may be "
                   "given several times (default: none)");
  arguments.option((prefix + "webhook-allow").c_str(), "NETWORK", webhook_allow,
                   "Network that is not public to which webhooks may be sent, such as 10.0.0.0/8; "
                   "may be given several times (default: none)");
  arguments.option((prefix + "webhook-ca").c_str(), "FILE", webhook_ca,
                   "PEM file of the certificate authorities to trust for webhooks (default: the "
                   "system's)");
}

std::vector<std::string> BrokerServing::addresses() const {
  return listen.empty() ? std::vector<std::string>{kBrokerListen} : listen;
}

Result<delivery::BrokerHostOptions> BrokerServing::host_options(const std::string& store) const {
  delivery::BrokerHostOptions options;
  options.store = store;
  options.limiter = limiter;
  options.brokers = single ? delivery::BrokerCount::single : delivery::BrokerCount::several;
  const auto policy = enum_from<delivery::ConnectionPolicy>(connections);
  HOLDFAST_ASSERT(policy.has_value());  // the option takes no other word
  options.push.policy = *policy;
  options.push.origins = origins;
  options.webhooks.allow = webhook_allow;
  options.webhooks.tls_ca_file = webhook_ca;
  if (!admin_token_file.empty()) {
    HOLDFAST_TRY(options.admin_token, read_token_file(admin_token_file));
  }
  return options;
}

void announce_broker(const delivery::BrokerServer& server, const char* member, ServerLog& logger,
                     Context& context) {
  for (const std::string& url : server.urls()) {
    logger.write(LogLevel::info, "listening", {{member, url}});
    if (context.json()) {
      JsonWriter json;
      json.begin_object().member(member, url).end_object();
      print_json(context, std::move(json));
    }
  }
  context.out.flush();
}

}  // namespace holdfast::cli
