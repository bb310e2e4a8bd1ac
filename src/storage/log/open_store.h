// Opens the store that a URL names.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/random.h"
#include "storage/log/store.h"

namespace holdfast {

// An empty log of that id.
StoreOrigin new_origin(const Uuid& log_id);

// origin_if_new is used only when mode is create and the store does not exist yet.
Result<std::unique_ptr<Store>> open_store(std::string_view url, OpenMode mode,
                                          const StoreOrigin& origin_if_new);

}  // namespace holdfast
