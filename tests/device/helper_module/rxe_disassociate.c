// SPDX-License-Identifier: GPL-2.0
// A removed device takes its open contexts along ("disassociation"), but SoftRoCE
// does not say that it can: `rdma link delete` waits for every process instead.
// It needs to do nothing for it, so this module says it in its place.
#include <linux/module.h>
#include <rdma/ib_verbs.h>

static void nothing_to_do(struct ib_ucontext *context)
{
}

static int add(struct ib_device *device)
{
	if (device->ops.driver_id == RDMA_DRIVER_RXE)
		device->ops.disassociate_ucontext = nothing_to_do;
	return 0;
}

static struct ib_client client = { .name = "rxe_disassociate", .add = add };

static int __init start(void)
{
	return ib_register_client(&client);
}
module_init(start);

// No module_exit(): devices keep a pointer to our function.
MODULE_DESCRIPTION("Lets a soft RDMA device be removed while it is open (tests only)");
MODULE_LICENSE("GPL");
