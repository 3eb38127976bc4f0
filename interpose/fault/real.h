// The functions of the C library behind ours.
#pragma once

namespace rdmacheck::fault {

// Or of another library that stands before it.
void* RealOfC(const char* name);

}  // namespace rdmacheck::fault
