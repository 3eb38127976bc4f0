#define FRAME 512
#include "in_a_frame.h"
