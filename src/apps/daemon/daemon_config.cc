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
constexpr std::uint32_t kMostInboxDays = 3650;
constexpr std::uint32_t kMostBackoffMs = 3'600'000;

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
  if (config.max_queue_size == 0 || config.max_outbox_bytes == 0 || config.max_inbox_bytes == 0) {
    return wrong("max_queue_size, max_outbox_bytes and max_inbox_bytes are at least 1");
  }
  if (config.initial_backoff_ms == 0 || config.max_backoff_ms < config.initial_backoff_ms ||
      config.max_backoff_ms > kMostBackoffMs) {
    return wrong(
        "initial_backoff_ms is at least 1, and max_backoff_ms at least as much, up to "
        "3600000");
  }
  if (config.inbox_days == 0 || config.inbox_days > kMostInboxDays) {
    return wrong("inbox_days is 1 to 3650");
  }
  return config;
}

Result<DaemonMember> read_daemon_member(const DaemonFolder& folder) {
  return read_settings<DaemonMember>(folder, "member.json");
}

std::vector<std::string> settings_for_restart(const DaemonConfig& now, const DaemonConfig& next) {
  std::vector<std::string> names;
  const auto compare = [&](std::string_view name, const auto& before, const auto& after) {
    if (before != after) {
      names.emplace_back(name);
    }
  };
  compare("brokers", now.brokers, next.brokers);
  compare("workspace", now.workspace, next.workspace);
  compare("tls_ca", now.tls_ca, next.tls_ca);
  compare("tcp", now.tcp, next.tcp);
  compare("port", now.port, next.port);
  compare("public_health", now.public_health, next.public_health);
  compare("max_age_hours", now.max_age_hours, next.max_age_hours);
  compare("senders", now.senders, next.senders);
  compare("receive", now.receive, next.receive);
  return names;
}

bool in_container() {
  return ::getenv("KUBERNETES_SERVICE_HOST") != nullptr || ::access("/.dockerenv", F_OK) == 0;
}

}  // namespace holdfast::delivery
