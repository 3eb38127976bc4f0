// A library that registers memory from inside a frame of FRAME bytes. Two of them differ in nothing else, so that the one has its
// calls where the other had them.
#include <infiniband/verbs.h>

static char buffer[64];

#ifdef __clang__
#define WITHOUT_FRAME_POINTER
#else
#define WITHOUT_FRAME_POINTER __attribute__((optimize("omit-frame-pointer")))
#endif

// A sanitizer would make the larger one's code longer.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) WITHOUT_FRAME_POINTER struct ibv_mr* make_in_a_frame(struct ibv_pd* pd) {
  volatile char room[FRAME];
  room[0] = 1;
  struct ibv_mr* mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
  return room[0] != 0 ? mr : NULL;
}
