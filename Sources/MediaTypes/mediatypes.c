#include "mediatypes.h"
