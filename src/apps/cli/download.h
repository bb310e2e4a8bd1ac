// An answer of a server that is longer than what should be in memory, piece by piece.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "apps/client/http_client.h"

namespace holdfast {

// sink: false from it ends the download. silence: how long nothing may come. An answer that is a
// refusal has its body; every other one was given to the sink.
Result<client::HttpOutcome> download(const client::ServerUrl& url,
                                     const client::HttpOptions& options, std::string_view target,
                                     std::chrono::milliseconds silence,
                                     const std::function<bool(std::string_view)>& sink);

}  // namespace holdfast
