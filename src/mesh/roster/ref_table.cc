#include "mesh/roster/ref_table.h"

#include <utility>

#include "holdfast/assert.h"

namespace holdfast::mesh {

namespace {

constexpr std::size_t kFirstSlots = 16;

}  // namespace

void RefTable::insert(std::uint32_t hash, Ref ref) {
  HOLDFAST_ASSERT(ref != kNoRef);
  if ((used_ + 1) * 4 > slots_.size() * 3) {
    grow();
  }
  place({hash, ref});
  ++used_;
}

void RefTable::place(Slot slot) {
  std::size_t at = slot.hash & mask();
  while (slots_[at].ref != kNoRef) {
    at = (at + 1) & mask();
  }
  slots_[at] = slot;
}

void RefTable::grow() {
  const auto before =
      std::exchange(slots_, std::vector<Slot>(slots_.empty() ? kFirstSlots : 2 * slots_.size()));
  for (const Slot& slot : before) {
    if (slot.ref != kNoRef) {
      place(slot);
    }
  }
}

// What follows moves up, so that no gap is between a number and the slot of its hash.
void RefTable::erase(std::uint32_t hash, Ref ref) {
  HOLDFAST_ASSERT(used_ > 0);
  std::size_t gap = hash & mask();
  while (slots_[gap].ref != ref) {
    HOLDFAST_ASSERT(slots_[gap].ref != kNoRef);
    gap = (gap + 1) & mask();
  }
  for (std::size_t next = (gap + 1) & mask(); slots_[next].ref != kNoRef;
       next = (next + 1) & mask()) {
    const std::size_t home = slots_[next].hash & mask();
    if (((next - home) & mask()) >= ((next - gap) & mask())) {
      slots_[gap] = slots_[next];
      gap = next;
    }
  }
  slots_[gap] = Slot{};
  --used_;
}

void RefLists::push(Head& head, Ref ref) {
  Ref link = free_;
  if (link == kNoRef) {
    link = static_cast<Ref>(links_.size());
    HOLDFAST_ASSERT(link != kNoRef);
    links_.emplace_back();
  } else {
    free_ = links_[link].next;
  }
  links_[link] = {ref, head};
  head = link;
}

void RefLists::erase(Head& head, Ref ref) {
  Ref* from = &head;
  while (*from != kNoRef && links_[*from].ref != ref) {
    from = &links_[*from].next;
  }
  HOLDFAST_ASSERT(*from != kNoRef);
  const Ref link = *from;
  *from = links_[link].next;
  links_[link] = {kNoRef, free_};
  free_ = link;
}

}  // namespace holdfast::mesh
