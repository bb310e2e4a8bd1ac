// Sanitising: what a node removes from an operation for a peer whose delegation carries rules.
// The copy has no signature; the mark names the rules and the delegation.
#pragma once

#include "mesh/ops/operation.h"

namespace holdfast::mesh {

// Applies the rules in their order. Only evidence has content that rules remove.
Operation sanitise(Operation operation, const SanitisedMark& mark);

}  // namespace holdfast::mesh
