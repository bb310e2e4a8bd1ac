// A log that the host application supplies (holdfast/log.h) as a Store.
//
// A record is body hash, chain value (32 bytes each) and body. The chain value before the oldest
// record is kept in the side store under a reserved key, changed together with each trim; scans
// do not show it.
#pragma once

#include <memory>

#include "holdfast/log.h"
#include "storage/log/store.h"

namespace holdfast {

std::unique_ptr<Store> adapt_log_store(std::unique_ptr<LogStore> log);

}  // namespace holdfast
