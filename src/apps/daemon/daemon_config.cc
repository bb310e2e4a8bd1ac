#include "apps/daemon/daemon_config.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json_value.h"
#include "net/url.h"
#include "runs/api/strict_reader.h"

namespace holdfast::delivery {

namespace {

constexpr std::uint32_t kMostSenders = 256;
constexpr std::uint32_t kMostPort = 65'535;

template <HasFields T>
Result<T> read_settings(const DaemonFolder& folder, std::string_view name) {
  const auto text = folder.read(name);
  if (!text.ok()) {
    return text.error().code() == ErrorCode::not_found
               ? Error{ErrorCode::not_found,
                       fmt::format("{} has no {}: the daemon has not joined a workspace; `holdfast "
                                   "daemon join LINK` does",
                                   folder.path(), name)}
               : text.error();
  }
  const auto json = JsonText::parse(text.value());
  if (!json.ok() || !json.value().is_object()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{} is not a JSON object", folder.file(name))};
  }
  auto settings = read_object<T>(json.value().view());
  if (!settings.ok()) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: {}", folder.file(name), settings.error().message())};
  }
  return settings;
}

}  // namespace

Result<DaemonConfig> read_daemon_config(const DaemonFolder& folder) {
  HOLDFAST_TRY(DaemonConfig config, read_settings<DaemonConfig>(folder, "config.json"));
  const auto wrong = [&](std::string_view what) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: {}", folder.file("config.json"), what)};
  };
  if (config.brokers.empty()) {
    return wrong("brokers needs at least one URL");
  }
  for (const std::string& url : config.brokers) {
    if (const auto parsed = net::parse_url(url); !parsed.ok()) {
      return wrong("brokers: " + parsed.error().message());
    }
  }
  if (config.senders == 0 || config.senders > kMostSenders) {
    return wrong("senders is 1 to 256");
  }
  if (config.port > kMostPort) {
    return wrong("port is 0 to 65535");
  }
  if (config.max_queue_size == 0 || config.max_outbox_bytes == 0) {
    return wrong("max_queue_size and max_outbox_bytes are at least 1");
  }
  return config;
}

Result<DaemonMember> read_daemon_member(const DaemonFolder& folder) {
  return read_settings<DaemonMember>(folder, "member.json");
}

bool in_container() {
  return ::getenv("KUBERNETES_SERVICE_HOST") != nullptr || ::access("/.dockerenv", F_OK) == 0;
}

}  // namespace holdfast::delivery
