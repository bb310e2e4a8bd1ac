// Invitations: a secret with which one program can become a member of a workspace, once and within
// a day. Of the secret, 32 random bytes, only the SHA-256 is stored.
//
// Every function runs inside BrokerStore::write.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/hash.h"
#include "delivery/broker/broker_directory.h"
#include "delivery/broker/sql_session.h"
#include "holdfast/result.h"

namespace holdfast::delivery {

inline constexpr std::int64_t kInvitationMs = std::int64_t{24} * 3600 * 1000;

// The end of the invitation.
Result<TimeMs> create_invitation(SqlSession& session, std::string_view mesh_id,
                                 const Digest& secret_hash, TimeMs now);

// Makes the member of the invitation; its mesh_id is the one of the invitation. not_found when
// there is no such invitation, or it was used or has ended: the error is the same. The
// errors of create_member; the invitation can then be used again.
Result<Member> use_invitation(SqlSession& session, const Digest& secret_hash, Member member,
                              TimeMs now);

}  // namespace holdfast::delivery
