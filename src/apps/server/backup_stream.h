// Streams a backup. A chunk is read when the previous one is sent, so a slow client occupies no
// thread.
#pragma once

#include <memory>

namespace holdfast {

class Call;

void stream_backup(const std::shared_ptr<Call>& call);

}  // namespace holdfast
