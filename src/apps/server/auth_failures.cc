#include "apps/server/auth_failures.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace holdfast {

namespace {

// An address is stored in one of the slots of its set.
constexpr std::size_t kSets = 512;
constexpr std::size_t kPlaces = 8;

constexpr double kMinuteMs = 60'000;
// A mistyped token is not an attack.
constexpr double kFree = 3;
constexpr double kDelayStepMs = 100;
constexpr double kLongestDelayMs = 2'000;

enum class Kind : std::uint8_t { none, four, six, user, unknown };

std::size_t set_of(const std::array<std::uint8_t, 9>& key) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const std::uint8_t byte : key) {
    hash = (hash ^ byte) * 1'099'511'628'211U;
  }
  return static_cast<std::size_t>(hash % kSets);
}

// Without brackets and port.
std::string host_of(const std::string& address) {
  if (address.starts_with('[')) {
    return address.substr(1, address.find(']') - 1);
  }
  return address.substr(0, address.find(':'));
}

}  // namespace

AuthFailures::AuthFailures(Clock& clock, Limits limits)
    : clock_(clock), limits_(limits), entries_(kSets * kPlaces) {}

AuthFailures::Key AuthFailures::key_of(const net::Peer& peer) {
  Key key{};
  if (peer.uid.has_value()) {
    key[0] = static_cast<std::uint8_t>(Kind::user);
    const std::uint32_t uid = *peer.uid;
    std::memcpy(&key[1], &uid, sizeof uid);
    return key;
  }
  const std::string host = host_of(peer.address);
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
    key[0] = static_cast<std::uint8_t>(Kind::four);
    std::memcpy(&key[1], &four, sizeof four);
  } else if (inet_pton(AF_INET6, host.c_str(), &six) == 1) {
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&six);
    key[0] = static_cast<std::uint8_t>(mapped ? Kind::four : Kind::six);
    std::memcpy(&key[1], &six.s6_addr[mapped ? 12 : 0], mapped ? 4 : 8);
  } else {
    key[0] = static_cast<std::uint8_t>(Kind::unknown);
  }
  return key;
}

std::string AuthFailures::text_of(const Key& key) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  in6_addr six{};
  std::uint32_t uid = 0;
  switch (static_cast<Kind>(key[0])) {
    case Kind::four:
      inet_ntop(AF_INET, &key[1], text.data(), text.size());
      return text.data();
    case Kind::six:
      std::memcpy(&six, &key[1], 8);
      inet_ntop(AF_INET6, &six, text.data(), text.size());
      return std::string(text.data()) + "/64";
    case Kind::user:
      std::memcpy(&uid, &key[1], sizeof uid);
      return "unix, uid " + std::to_string(uid);
    case Kind::none:
    case Kind::unknown:
      break;
  }
  return "unknown";
}

AuthFailures::Entry& AuthFailures::entry_of(const Key& key, TimeMs now) {
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(set_of(key) * kPlaces);
  const auto end = begin + static_cast<std::ptrdiff_t>(kPlaces);
  const auto known = std::find_if(begin, end, [&](const Entry& entry) { return entry.key == key; });
  if (known != end) {
    const auto passed = static_cast<double>(std::max<std::int64_t>(0, now.value - known->at.value));
    const double forgotten = passed * static_cast<double>(limits_.per_minute) / kMinuteMs;
    known->used = std::max(0.0, known->used - forgotten);
    known->at = now;
    return *known;
  }
  Entry& quietest = *std::min_element(
      begin, end, [](const Entry& left, const Entry& right) { return left.at < right.at; });
  unlogged_of_others_ += quietest.unlogged;
  quietest = Entry{key, 0, now, {}, 0};
  return quietest;
}

AuthFailures::Verdict AuthFailures::failed(const net::Peer& peer) {
  const TimeMs now = clock_.now();
  const Key key = key_of(peer);
  const auto most = static_cast<double>(limits_.per_minute);
  Verdict verdict;
  const std::scoped_lock lock(mutex_);
  Entry& entry = entry_of(key, now);
  ++entry.unlogged;
  const std::int64_t since = now.value - entry.logged_at.value;
  if (entry.logged_at.value == 0 || since < 0 || since >= limits_.log_every.count()) {
    verdict.lines.push_back({text_of(key), std::exchange(entry.unlogged, 0)});
    entry.logged_at = now;
  }
  if (limits_.per_minute == 0) {
    return verdict;
  }
  if (entry.used + 1 > most) {
    const double wait_s = (entry.used + 1 - most) * kMinuteMs / most / 1000;
    verdict.retry_after_s = static_cast<std::uint64_t>(std::max(1.0, std::ceil(wait_s)));
    return verdict;
  }
  const double delay = std::clamp((entry.used - kFree + 1) * kDelayStepMs, 0.0, kLongestDelayMs);
  verdict.delay = std::chrono::milliseconds(static_cast<std::int64_t>(delay));
  entry.used += 1;
  return verdict;
}

std::vector<AuthFailures::Line> AuthFailures::take_unlogged() {
  const TimeMs now = clock_.now();
  std::vector<Line> lines;
  const std::scoped_lock lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.unlogged > 0) {
      lines.push_back({text_of(entry.key), std::exchange(entry.unlogged, 0)});
      entry.logged_at = now;
    }
  }
  if (unlogged_of_others_ > 0) {
    lines.push_back({"", std::exchange(unlogged_of_others_, 0)});
  }
  return lines;
}

}  // namespace holdfast
