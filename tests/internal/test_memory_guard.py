"""The memory guard knows the limits of the container, not of the machine alone."""

from __future__ import annotations

import pytest

from kinhash.plugins import available_memory

GB = 10**9


@pytest.fixture
def system(tmp_path):
    """Write files of a made-up system, with 8 GB free on its machine; asked for what is free, it is read."""

    def write(files):
        for name, text in {
            "proc/meminfo": f"MemTotal: 99 kB\nMemAvailable: {8 * GB // 1024} kB\n",
            **files,
        }.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        return available_memory(tmp_path)

    return write


FREE = 8 * GB // 1024 * 1024
V2, V1 = "sys/fs/cgroup", "sys/fs/cgroup/memory"


def group(folder, most, used, **stat):
    return {
        f"{folder}/memory.max": most,
        f"{folder}/memory.current": used,
        f"{folder}/memory.stat": "\n".join(f"{name} {value}" for name, value in stat.items()),
    }


def group_v1(folder, most, used, **stat):
    names = {"memory.max": "memory.limit_in_bytes", "memory.current": "memory.usage_in_bytes"}
    files = group(folder, most, used, **stat)
    return {f"{folder}/{names.get(n := path.rsplit('/', 1)[1], n)}": text for path, text in files.items()}


def test_without_groups_the_machine_decides(system):
    assert system({}) == FREE


def test_where_nobody_says_anything_is_free(tmp_path):
    assert available_memory(tmp_path) >= 1 << 60


def test_here_and_now_there_is_some():
    assert 0 < available_memory() <= 1 << 62


def test_a_container_with_a_view_of_its_own(system):
    assert system({"proc/self/cgroup": "0::/", **group(V2, 1_500_000_000, GB)}) == 500_000_000


def test_the_tightest_group_on_the_way_up_decides(system):
    files = {
        "proc/self/cgroup": "0::/user.slice/job:1",
        **group(f"{V2}/user.slice/job:1", 3 * GB, GB),
        **group(f"{V2}/user.slice", 4 * GB, 3 * GB),
        **group(f"{V2}/other.slice", 10, 9),
    }
    assert system(files) == GB


def test_a_group_without_a_limit_leaves_it_to_the_others(system):
    files = {
        "proc/self/cgroup": "0::/a/b",
        **group(f"{V2}/a/b", "max", GB),
        **group(f"{V2}/a", 2 * GB, GB),
    }
    assert system(files) == GB


def test_pages_of_files_are_given_back_when_needed(system):
    stat = {"anon": 300_000_000, "inactive_file": 400_000_000, "active_file": 200_000_000}
    assert system({"proc/self/cgroup": "0::/", **group(V2, GB, 900_000_000, **stat)}) == 700_000_000


def test_a_group_beyond_its_limit_has_nothing_left(system):
    assert system({"proc/self/cgroup": "0::/", **group(V2, GB, GB + 1)}) == 0


def test_a_group_outside_the_container_is_not_looked_for(system):
    files = {"proc/self/cgroup": "0::/../../elsewhere", **group(V2, 2 * GB, GB), **group("sys/fs", 10, 9)}
    assert system(files) == GB


@pytest.mark.parametrize("shown", ["docker/abc", ""])
def test_version_1_of_the_kernels_files(system, shown):
    """In a container the group's own folder is mounted as the root, though its path names another."""
    files = {
        "proc/self/cgroup": "12:cpu,cpuacct:/docker/abc\n5:memory,hugetlb:/docker/abc\n1:name=systemd:/x",
        **group_v1(f"{V1}/{shown}".rstrip("/"), 2 * GB, GB, total_inactive_file=GB // 4, inactive_file=1),
    }
    assert system(files) == GB + GB // 4


def test_version_1_without_a_limit(system):
    files = {"proc/self/cgroup": "5:memory:/", **group_v1(V1, 9223372036854771712, GB)}
    assert system(files) == FREE


def test_the_machine_may_be_the_tighter_one(system):
    assert system({"proc/self/cgroup": "0::/", **group(V2, 64 * GB, GB)}) == FREE


def test_files_that_say_something_else_are_left_out(system):
    files = {
        "proc/self/cgroup": "nonsense\n\n0::/a",
        **group(f"{V2}/a", "lots", ""),
        "proc/meminfo": "MemFree: 1 kB",
    }
    assert system(files) >= 1 << 60
