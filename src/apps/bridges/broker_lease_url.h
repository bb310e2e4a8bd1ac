// The URL of a broker whose queues carry attempts:
//   broker://[TOKEN@]HOST[:PORT], broker+https://[TOKEN@]HOST[:PORT] or broker+unix:///PATH
// with the parameters token_file, prefix, redeliver_ms and max_deliveries after '?'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/lease_backend.h"
#include "holdfast/result.h"

namespace holdfast::bridges {

struct BrokerLeaseUrl {
  std::string origin;  // http://HOST:PORT, https://HOST:PORT or unix:PATH
  std::string shown;   // for messages: without the token
  std::string token;   // of a member of the workspace
  std::string prefix;  // of the names of the queues
  LeaseBackendOptions options;
};

bool is_broker_lease_url(std::string_view url);
// Reads the file of the token. invalid_url, and the errors of the file. Never shows the URL.
Result<BrokerLeaseUrl> parse_broker_lease_url(std::string_view url);

}  // namespace holdfast::bridges
