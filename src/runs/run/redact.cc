#include "runs/run/redact.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/json_slice.h"

namespace holdfast {

namespace {

constexpr std::array<std::string_view, 10> kSecretKeys{
    "access_token", "api_key",     "authorization", "claim_token", "credential",
    "password",     "private_key", "refresh_token", "secret",      "token"};

bool is_secret(std::string_view name) {
  // Escapes must not hide a key.
  std::string key = json_string_value('"' + std::string(name) + '"').value_or(std::string(name));
  std::transform(key.begin(), key.end(), key.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return std::find(kSecretKeys.begin(), kSecretKeys.end(), key) != kSecretKeys.end();
}

// Writes the value without its secrets. True when there were some.
bool write_redacted(std::string& out, std::string_view value) {
  if (!value.starts_with('{') && !value.starts_with('[')) {
    out += value;
    return false;
  }
  const bool object = value.starts_with('{');
  out += value.front();
  bool found = false;
  bool first = true;
  JsonSlicer slicer(value);
  while (const auto member = slicer.next()) {
    out += first ? "" : ",";
    first = false;
    if (object) {
      out += '"';
      out += member->name;
      out += "\":";
    }
    if (object && is_secret(member->name)) {
      out += R"("[REDACTED]")";
      found = true;
    } else {
      found = write_redacted(out, member->value) || found;
    }
  }
  out += value.back();
  return found;
}

}  // namespace

Payload redact(std::string_view name, const Payload& value) {
  return is_secret(name) ? Payload::trusted(R"("[REDACTED]")") : redact(value);
}

Payload redact(const Payload& payload) {
  std::string out;
  return write_redacted(out, payload.view()) ? Payload::trusted(out) : payload;
}

}  // namespace holdfast
