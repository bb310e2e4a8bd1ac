// The handlers every engine has: http and exec steps, as their definitions describe them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/worker_pool.h"

namespace holdfast {

HandlerTable built_in_handlers(
    const std::function<std::optional<std::string>(std::string_view name)>& credential);

// invalid_definition when a cron trigger names a time zone that this system does not know.
Result<void> check_timezones(const Definition& definition);

}  // namespace holdfast
