#!/usr/bin/env python3
"""Installs the packages in minimal roots, uses them, and removes them again: the .deb by apt, the .rpm by rpm. By hand, as
root and with a network, since each root takes a minute or two:

    for suite in bookworm trixie; do debootstrap --variant=minbase $suite /tmp/roots/$suite; done
    tests/install/package_roots.py build /tmp/roots/bookworm /tmp/roots/trixie

BUILD is a finished build; it is configured with RDMACHECK_LIBDIR=lib64 for the .rpm, and back. The roots are copied first.
usage: package_roots.py BUILD ROOT...
"""
import pathlib
import subprocess
import sys
import tempfile

# What apt, dpkg, rpm and man keep of their own.
OWN = ("/proc/", "/dev/", "/sys/", "/tmp/", "/var/lib/apt/", "/var/cache/", "/var/log/", "/var/lib/dpkg/status-old",
       "/var/lib/dpkg/lock", "/var/lib/dpkg/triggers", "/usr/lib/sysimage/rpm", "/var/lib/rpm", "/root/.rpmdb")


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != status:
        sys.exit(f"{' '.join(map(str, words))}: status {done.returncode}, not {status}\n{done.stdout}")
    return done.stdout


def inside(root, command, status=0):
    return run("unshare", "-m", "bash", "-c", 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
               'mount -t sysfs sys "$0/sys" && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive '
               'LC_ALL=C.UTF-8 sh -euc "$1"', root, command, status=status)


def files(root):
    found = run("find", root, "-xdev", "-printf", "/%P\n").splitlines()
    return {name for name in found if not name.startswith(OWN)}


def used(root):
    """What a user does first. Where the kernel has no RDMA ibv_devices fails, with the checker as without."""
    said = inside(root, "cd /tmp; bare=0; ibv_devices || bare=$?; status=0; rdmacheck run -- ibv_devices || status=$?; "
                        "[ $status = $bare ]; rdmacheck rules leak-at-close | head -n1; rdmacheck --version")
    assert "1 of 1 process called verbs" in said and "leak-at-close (error)" in said, said
    pages = inside(root, "man rdmacheck; man librdmacheck")
    assert "rdmacheck run" in pages and "leak-at-close" in pages, pages
    assert "librdmacheck" in inside(root, "LD_PRELOAD=librdmacheck.so grep -o 'librdmacheck.so' /proc/self/maps")


def deb(root, package):
    before = files(root)
    (root / "tmp/rdmacheck.deb").write_bytes(package.read_bytes())
    inside(root, "apt-get -qq install -y --no-install-recommends /tmp/rdmacheck.deb")
    added = files(root) - before
    used(root)
    inside(root, "apt-get -qq purge -y rdmacheck")
    left = files(root) ^ before
    assert not left, f"left after the purge: {sorted(left)}"
    print(f"{root.name}: {package.name}: {len(added)} files, used, removed without a trace")


def rpm(root, package):
    before = files(root)
    run("rpm", "--root", root, "--dbpath", "/root/.rpmdb", "--nodeps", "-i", package)
    assert (root / "usr/lib64/librdmacheck.so").exists()
    inside(root, "echo /usr/lib64 >/etc/ld.so.conf.d/lib64.conf; ldconfig")  # as on a system with rpm
    used(root)
    (root / "etc/ld.so.conf.d/lib64.conf").unlink()
    inside(root, "ldconfig")
    run("rpm", "--root", root, "--dbpath", "/root/.rpmdb", "-e", "rdmacheck")
    left = files(root) ^ before
    assert not left, f"left after rpm -e: {sorted(left)}"
    print(f"{root.name}: {package.name}: used, removed without a trace")


def package(build, out, kind):
    run("cpack", "--config", build / "CPackConfig.cmake", "-G", kind.upper(), "-B", out)
    return next(name for name in sorted(out.glob(f"rdmacheck*.{kind}")) if "dbg" not in name.name)


def main():
    build, roots = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(word) for word in sys.argv[2:]]
    if not roots:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        deb_file = package(build, work / "out", "deb")
        run("cmake", build, "-DRDMACHECK_LIBDIR=lib64")
        try:
            rpm_file = package(build, work / "out", "rpm")
        finally:
            run("cmake", build, "-DRDMACHECK_LIBDIR=lib")
        for given in roots:
            root = work / given.name
            run("cp", "-a", given, root)
            (root / "etc/resolv.conf").write_text(pathlib.Path("/etc/resolv.conf").read_text())
            inside(root, "apt-get -qq update; apt-get -qq install -y --no-install-recommends ibverbs-utils man-db")
            deb(root, deb_file)
            rpm(root, rpm_file)
            run("rm", "-rf", "--one-file-system", root)


main()
