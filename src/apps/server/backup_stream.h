// A backup as an answer that comes in pieces: a piece is read when the one before it is gone, so a
// slow reader holds no thread.
#pragma once

#include <memory>

namespace holdfast {

class Call;

void stream_backup(const std::shared_ptr<Call>& call);

}  // namespace holdfast
