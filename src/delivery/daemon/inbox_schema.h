// The file inbox.db: its tables.
//
// A message is a row; its id rises with every message and is never used again. A row whose text was
// removed keeps its key, so that the message is recognised when it comes again. created_at is in
// the time of the broker, all other times are those of this machine.
#pragma once

#include "delivery/daemon/daemon_file.h"

namespace holdfast::delivery {

const DaemonFileKind& inbox_file_kind();

}  // namespace holdfast::delivery
