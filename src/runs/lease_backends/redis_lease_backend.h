// A lease backend on Redis streams. docs/guide/backends.md describes the keys and the messages, so
// that a worker needs nothing but a Redis client.
#pragma once

#include <memory>

#include "holdfast/lease_backend.h"
#include "storage/redis/redis_url.h"

namespace holdfast {

struct RedisLeaseOptions : LeaseBackendOptions {
  std::string prefix = "holdfast";
};

// The parameters prefix, redeliver_ms and max_deliveries of the URL. invalid_url names any other.
Result<RedisLeaseOptions> redis_lease_options(const RedisUrl& url);

// It connects when it is first used.
std::unique_ptr<LeaseBackend> redis_lease_backend(const RedisUrl& url,
                                                  const RedisLeaseOptions& options);

}  // namespace holdfast
