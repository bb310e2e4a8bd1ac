#include "delivery/contract/rejection.h"

#include <array>

#include "holdfast/assert.h"

namespace holdfast::delivery {

namespace {

constexpr auto kTable = std::to_array<RejectionInfo>({
#define HOLDFAST_ROW(name, status, code, line) \
  {Rejection::name, #name, status, ErrorCode::code, line},
    HOLDFAST_DELIVERY_REJECTIONS(HOLDFAST_ROW)
#undef HOLDFAST_ROW
});

}  // namespace

const RejectionInfo& rejection_info(Rejection rejection) {
  const auto& info = kTable[static_cast<std::size_t>(rejection)];
  HOLDFAST_ASSERT(info.rejection == rejection);
  return info;
}

std::optional<Rejection> find_rejection(std::string_view name) {
  for (const RejectionInfo& info : kTable) {
    if (info.name == name) {
      return info.rejection;
    }
  }
  return std::nullopt;
}

Error rejected(Rejection rejection, std::string_view detail) {
  const RejectionInfo& info = rejection_info(rejection);
  std::string message(info.line);
  if (!detail.empty()) {
    message += ": ";
    message += detail;
  }
  return Error{info.code, std::move(message)}.with("error", info.name);
}

Error rejected(Rejection rejection) { return rejected(rejection, ""); }

std::optional<Rejection> rejection_of(const Error& error) {
  return find_rejection(error.field("error"));
}

}  // namespace holdfast::delivery
