#include "base/shared_text.h"

#include <cstring>
#include <limits>
#include <new>

#include "holdfast/assert.h"

namespace holdfast {

SharedText::SharedText(std::string_view text) {
  if (text.empty()) {
    return;
  }
  HOLDFAST_ASSERT(text.size() <= std::numeric_limits<std::uint32_t>::max());
  void* memory = ::operator new(sizeof(Block) + text.size());
  block_ = new (memory) Block{{1}, static_cast<std::uint32_t>(text.size())};
  std::memcpy(static_cast<char*>(memory) + sizeof(Block), text.data(), text.size());
}

void SharedText::drop() {
  if (block_ != nullptr && block_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block_->~Block();
    ::operator delete(static_cast<void*>(block_));
  }
}

}  // namespace holdfast
