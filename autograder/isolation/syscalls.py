"""System call numbers, for x86-64 and 64-bit ARM: the calls that are denied or examined, by what they are for.

Written as name:x86-64:ARM, with - where an architecture has no such call.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import NamedTuple

HIGHEST = 450  # the last call these tables were checked against; a newer one is answered with ENOSYS


class Architecture(NamedTuple):
    """How the kernel names this machine in a filter, and the column of its numbers."""

    audit: int
    column: int


ARCHITECTURES = {"x86_64": Architecture(0xC000003E, 0), "aarch64": Architecture(0xC00000B7, 1)}


def architecture() -> Architecture:
    """This machine's, or OSError where the tables have none."""
    try:
        return ARCHITECTURES[platform.machine()]
    except KeyError:
        raise OSError(f"no system call table for {platform.machine()}") from None


def numbers(group: Mapping[str, Sequence[int | None]]) -> dict[str, int]:
    """The calls of a group that this machine has, by name."""
    column = architecture().column
    found = {name: row[column] for name, row in group.items()}
    return {name: number for name, number in found.items() if number is not None}


def _group(text: str) -> dict[str, tuple[int | None, ...]]:
    rows = (word.split(":") for word in text.split())
    return {name: tuple(None if cell == "-" else int(cell) for cell in cells) for name, *cells in rows}


# the channel to the grader is already open; nothing else is
NETWORK = _group(
    """
    socket:41:198 socketpair:53:199 connect:42:203 bind:49:200 listen:50:201 accept:43:202 accept4:288:242
    """
)
# one process, and no other program
PROCESSES = _group(
    """
    fork:57:- vfork:58:- execve:59:221 execveat:322:281 setpgid:109:154 setsid:112:157
    """
)
# reading, stopping or tracing another process; where the grader's user is shared, only this stands in the way
OTHERS = _group(
    """
    ptrace:101:117 process_vm_readv:310:270 process_vm_writev:311:271 process_madvise:440:440
    process_mrelease:448:448 pidfd_open:434:434 pidfd_getfd:438:438 pidfd_send_signal:424:424 kcmp:312:272
    ioprio_set:251:30 migrate_pages:256:238 move_pages:279:239
    """
)
# what Landlock leaves open, and links or pipes that would trick whoever reads the folder later
METADATA = _group(
    """
    chmod:90:- fchmod:91:52 fchmodat:268:53 chown:92:- fchown:93:55 lchown:94:- fchownat:260:54 utime:132:-
    utimes:235:- futimesat:261:- utimensat:280:88 setxattr:188:5 lsetxattr:189:6 fsetxattr:190:7
    removexattr:197:14 lremovexattr:198:15 fremovexattr:199:16 truncate:76:45 link:86:- linkat:265:37
    symlink:88:- symlinkat:266:36 mknod:133:- mknodat:259:33 name_to_handle_at:303:264 open_by_handle_at:304:265
    fanotify_init:300:262 fanotify_mark:301:263 inotify_init:253:- inotify_init1:294:26 inotify_add_watch:254:27
    """
)
# the shape of the file system
MOUNTS = _group(
    """
    mount:165:40 umount2:166:39 pivot_root:155:41 chroot:161:51 unshare:272:97 setns:308:268 open_tree:428:428
    move_mount:429:429 fsopen:430:430 fsconfig:431:431 fsmount:432:432 fspick:433:433 mount_setattr:442:442
    """
)
# System V and POSIX queues outlive a process, and so would reach the next submission
LEFTOVERS = _group(
    """
    shmget:29:194 shmat:30:196 shmctl:31:195 shmdt:67:197 semget:64:190 semop:65:193 semctl:66:191
    semtimedop:220:192 msgget:68:186 msgsnd:69:189 msgrcv:70:188 msgctl:71:187 mq_open:240:180 mq_unlink:241:181
    mq_timedsend:242:182 mq_timedreceive:243:183 mq_notify:244:184 mq_getsetattr:245:185 keyctl:250:219
    add_key:248:217 request_key:249:218
    """
)
# memory and disk that no process and no file seems to use, so that a watchdog would not see it
UNSEEN = _group(
    """
    memfd_create:319:279 memfd_secret:447:447 fallocate:285:47 splice:275:76 tee:276:77 vmsplice:278:75
    """
)
# which pages of shared files are in memory, and who has locked them: a word from one submission to the next
SHARED_FILES = _group(
    """
    fadvise64:221:223 readahead:187:213 mincore:27:232 flock:73:32
    """
)
# what the whole machine has only so much of, or waits for
MACHINE = _group(
    """
    io_setup:206:0 io_destroy:207:1 io_submit:209:2 io_cancel:210:3 io_getevents:208:4 io_pgetevents:333:292
    sync:162:81 syncfs:306:267
    """
)
# rarely needed, often the way into the kernel
KERNEL = _group(
    """
    bpf:321:280 perf_event_open:298:241 userfaultfd:323:282 io_uring_setup:425:425 io_uring_enter:426:426
    io_uring_register:427:427 personality:135:92 quotactl:179:60 quotactl_fd:443:443
    swapon:167:224 swapoff:168:225 reboot:169:142 create_module:174:- init_module:175:105 finit_module:313:273
    delete_module:176:106 kexec_load:246:104 kexec_file_load:320:294 settimeofday:164:170 clock_settime:227:112
    clock_adjtime:305:266 adjtimex:159:171 syslog:103:116 acct:163:89 sethostname:170:161 setdomainname:171:162
    iopl:172:- ioperm:173:- modify_ldt:154:- vhangup:153:58 nfsservctl:180:42 lookup_dcookie:212:18 uselib:134:-
    """
)
# allowed or not by their arguments, see `seccomp`
EXAMINED = _group(
    """
    clone:56:220 kill:62:129 tkill:200:130 tgkill:234:131 rt_sigqueueinfo:129:138 rt_tgsigqueueinfo:297:240
    prlimit64:302:261 setpriority:141:140 sched_setaffinity:203:122 sched_setscheduler:144:119
    sched_setparam:142:118 sched_setattr:314:274 open:2:- openat:257:56 mmap:9:222 fcntl:72:25 ioctl:16:29 prctl:157:167
    sendto:44:206 madvise:28:233 close_range:436:436
    """
)
# answered as if this kernel had no such call: callers then fall back to one that can be examined
ABSENT = _group(
    """
    clone3:435:435 openat2:437:437 preadv2:327:286 pwritev2:328:287
    """
)
