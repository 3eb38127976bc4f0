// SPDX-License-Identifier: GPL-2.0
// A removed device takes its open contexts along ("disassociation"), but SoftRoCE
// does not say that it can: `rdma link delete` waits for every process instead.
// It needs to do nothing for it, so this module says it in its place.
//
// One thing it would need: a queue that is still mapped when the process ends
// makes it look at its context once more, which is gone by then. So mappings made
// through this module are not told that they end; their memory is never freed.
#include <linux/mm.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

static void nothing_to_do(struct ib_ucontext *context)
{
}

static const struct vm_operations_struct no_operations;
static int (*rxe_mmap)(struct ib_ucontext *, struct vm_area_struct *);

static int mmap_for_good(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	int error = rxe_mmap(context, vma);

	if (!error)
		vma->vm_ops = &no_operations;
	return error;
}

static int add(struct ib_device *device)
{
	if (device->ops.driver_id != RDMA_DRIVER_RXE)
		return 0;
	device->ops.disassociate_ucontext = nothing_to_do;
	rxe_mmap = device->ops.mmap;
	device->ops.mmap = mmap_for_good;
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
