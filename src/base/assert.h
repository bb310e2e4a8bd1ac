// HOLDFAST_ASSERT, from the public headers: programs that embed Holdfast share it.
#pragma once

#include "holdfast/assert.h"
