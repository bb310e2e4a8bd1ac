#include "delivery/broker/invitation.h"

namespace holdfast::delivery {

Result<TimeMs> create_invitation(SqlSession& session, std::string_view mesh_id,
                                 const Digest& secret_hash, TimeMs now) {
  const TimeMs ends{now.value + kInvitationMs};
  HOLDFAST_TRY(const std::uint64_t added,
               session.execute("INSERT INTO @.invitation(secret_hash, mesh_id, created_at, "
                               "expires_at) SELECT $1b, w.mesh_id, $3i, $4i FROM @.mesh w "
                               "WHERE w.mesh_id = $2t ON CONFLICT DO NOTHING",
                               {sql_bytes(secret_hash), mesh_id, now.value, ends.value}));
  if (added == 0) {
    return Error{ErrorCode::not_found, "there is no such workspace"};
  }
  return ends;
}

Result<Member> use_invitation(SqlSession& session, const Digest& secret_hash, Member member,
                              TimeMs now) {
  HOLDFAST_TRY(const std::uint64_t used,
               session.execute("UPDATE @.invitation SET used_at = $2i, member_id = $3t "
                               "WHERE secret_hash = $1b AND used_at IS NULL AND expires_at > $2i",
                               {sql_bytes(secret_hash), now.value, member.member_id}));
  if (used == 0) {
    return Error{ErrorCode::not_found,
                 "there is no such invitation, or it was used, or it is older than a day; an "
                 "administrator makes a new one with `holdfast broker member invite`"};
  }
  HOLDFAST_TRY(const SqlRows rows,
               session.query("SELECT mesh_id FROM @.invitation WHERE secret_hash = $1b",
                             {sql_bytes(secret_hash)}));
  member.mesh_id = rows.front().front().bytes;
  HOLDFAST_CHECK(create_member(session, member, now));
  return member;
}

}  // namespace holdfast::delivery
