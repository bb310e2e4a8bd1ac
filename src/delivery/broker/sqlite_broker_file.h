// The file of a SQLite store: how it is recognised, and read without being its broker.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "delivery/broker/broker_store.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

inline constexpr std::uint32_t kBrokerApplicationId = 0x484c424b;  // "HLBK"

enum class BrokerFileState : std::uint8_t { empty, broker };

// not_a_journal when the file holds something else.
Result<BrokerFileState> check_broker_file(const std::string& path);

// A store that can only be read, also while a broker uses the file; accept() and write() fail with
// read_only. not_found, not_a_journal, newer_format; conflict when an older program wrote the file.
Result<std::unique_ptr<BrokerStore>> open_sqlite_broker_snapshot(const std::string& path);

}  // namespace holdfast::delivery
