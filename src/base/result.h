// Result<T>, from the public headers: there is one result type inside and outside.
#pragma once

#include "holdfast/result.h"
