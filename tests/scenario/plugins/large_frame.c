#define FRAME 2048
#include "in_a_frame.h"
