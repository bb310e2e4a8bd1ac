// The file outbox.db: its tables.
//
// A row is never deleted, because its client_message_id is never released. Rows are ordered by seq,
// which rises with every insert. first_sent_at is in the time of the broker, all other times are
// those of this machine.
#pragma once

#include "delivery/daemon/daemon_file.h"

namespace holdfast::delivery {

const DaemonFileKind& outbox_file_kind();

}  // namespace holdfast::delivery
