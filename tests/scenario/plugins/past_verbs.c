// Verbs for a program that opens this library with RTLD_DEEPBIND: they go to libibverbs itself.
#include <infiniband/verbs.h>

struct ibv_pd* alloc_a_pd(struct ibv_context* context) { return ibv_alloc_pd(context); }
int dealloc_a_pd(struct ibv_pd* pd) { return ibv_dealloc_pd(pd); }
