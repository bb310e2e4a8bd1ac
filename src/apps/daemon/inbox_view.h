// A message of the inbox as programs see it.
#pragma once

#include "delivery/api/daemon_inbox_requests.h"
#include "delivery/daemon/inbox.h"

namespace holdfast::delivery {

InboxMessageView view_of_message(const InboxMessage& message);

}  // namespace holdfast::delivery
