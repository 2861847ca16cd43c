// The shims of this module are static inline functions in its header.
#include "CNGHTTP2.h"
