// The shims of this module are static inline functions in its header.
#include "CPostgres.h"
