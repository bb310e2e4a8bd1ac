// Error, from the public headers: programs that embed Holdfast get the same one.
#pragma once

#include "holdfast/error.h"
