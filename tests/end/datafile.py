"""Reads data files (src/wire/data.h) for tests: an independent, slow and simple decoder."""
import os
import struct

HEADER = struct.Struct("<QIIII IIII iiII iiII Qqqq qqiI Qqq qqq 16Q QQQQQQQQQ II 64s1024s256s")
HEADER_LOST_AT = struct.calcsize(HEADER.format.split('16Q')[0])  # 16 counts of 8 bytes, by enum sn_loss
NAMES = ("magic version header_bytes chunk_bytes state next_chunk chunks_backed chunks_max origin pid parent_pid "
         "sequence parent_sequence rank rank_count uid follows_exec namespace start_ns start_realtime_ns "
         "process_start_ns end_ns end_realtime_ns exit_code mechanism period_ns start_user_ns start_system_ns "
         "end_user_ns end_system_ns end_wait_cpu_ns").split()
AFTER = ("handler_ns overhead_ns handler_count switch_count raw_clone_threads threads_started "
         "children_not_followed reserved2 reserved3 is_paused reserved1 host program job").split()
STARTING, RUNNING, EXITED, EXECED, ABORTED = range(5)
SAMPLE, OWNER, TIME, CPU, STACK, MAP, UNMAP, THREAD_START, THREAD_ACCOUNT, THREAD_END, WAIT, PACKET, TEXT, EXEC, FORK = \
    range(1, 16)
TALLY = 17
SYSTEM, REMAINDER, LATE = 1, 2, 4


class Data:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        values = list(HEADER.unpack_from(self.bytes))
        self.lost = values[31:47]
        for name, value in list(zip(NAMES, values)) + list(zip(AFTER, values[47:])):
            if isinstance(value, bytes):
                value = value.split(b"\0")[0].decode(errors="replace")
            setattr(self, name, value)
        assert self.magic == 0x544144454e4f53, path
        self.samples, self.stacks, self.maps, self.unmaps, self.texts = [], {}, [], [], []
        self.starts, self.ends, self.accounts, self.waits, self.packets, self.execs, self.forks = [], [], [], [], [], [], []
        self.tallies = []
        self.damaged = 0
        for index in range(self.next_chunk):
            self.read_chunk(self.header_bytes + index * self.chunk_bytes)

    def read_chunk(self, at):
        magic, index, committed = struct.unpack_from("<III", self.bytes, at)
        if magic != 0x4b4e4843 or committed > self.chunk_bytes:
            self.damaged += committed != 0
            return
        end, thread, base, more = at + committed, None, 0, 0
        at += 32
        while at < end:
            kind, flags, size = struct.unpack_from("<BBH", self.bytes, at)
            body = self.bytes[at:at + (16 if kind == SAMPLE else size)]
            if kind == 0 or len(body) < 8 or len(body) % 8:
                self.damaged += 1
                return
            at += len(body)
            if kind == SAMPLE:
                _, flags, cpu, stack, dt, cpu_ns = struct.unpack("<BBHIII", body)
                self.samples.append((thread, base + dt, cpu_ns + more, stack, flags, cpu))
                more = 0
            elif kind == OWNER:
                thread, tid, _, base = struct.unpack_from("<IiIq", body, 4)
            elif kind == TIME:
                base, = struct.unpack_from("<q", body, 8)
            elif kind == CPU:
                more, = struct.unpack_from("<Q", body, 8)
            elif kind == STACK:
                ident, parent, depth = struct.unpack_from("<III", body, 4)
                self.stacks[ident] = (flags, parent, struct.unpack_from("<%dQ" % depth, body, 16))
            elif kind == MAP:
                length, time, start, stop, bias, offset, n = struct.unpack_from("<IqQQQQB", body, 4)
                path = body[81:81 + length].decode(errors="replace")
                self.maps.append((start, stop, bias, path, body[49:49 + n].hex(), time, flags))
            elif kind == UNMAP:
                self.unmaps.append(struct.unpack_from("<qQQ", body, 8))
            elif kind == THREAD_START:
                self.starts.append(struct.unpack_from("<IiIqQI", body, 4))
            elif kind in (THREAD_ACCOUNT, THREAD_END):
                row = struct.unpack_from("<IqqqqqQQQQ16s", body, 4)
                (self.ends if kind == THREAD_END else self.accounts).append(row)
            elif kind == WAIT:
                stack, t0, duration = struct.unpack_from("<IqQ", body, 4)
                self.waits.append((thread, flags, t0, duration, stack))
            elif kind == TALLY:
                stack, count, value, name = struct.unpack_from("<IQQ16s", body, 4)
                self.tallies.append((thread, name.split(b"\0")[0].decode(), stack, count, value))
            elif kind == PACKET:
                self.packets.append(struct.unpack_from("<qqqqQQQQQ", body, 8))
            elif kind == TEXT:
                length, = struct.unpack_from("<I", body, 4)
                self.texts.append((flags & 0x7f, body[8:8 + length].decode(errors="replace")))
            elif kind == EXEC:
                child, time, length = struct.unpack_from("<iqI", body, 4)
                self.execs.append((flags, child, body[20:20 + length].decode(errors="replace")))
            elif kind == FORK:
                self.forks.append(struct.unpack_from("<i", body, 4)[0])

    def frames(self, ident):
        """All pcs of a stack, leaf first, and its flags."""
        pcs, flags = [], 0
        while ident:
            if ident not in self.stacks:
                return pcs, flags | 64
            more, parent, some = self.stacks[ident]
            pcs += some
            flags |= more
            ident = parent
        return pcs, flags

    def cpu_ns(self, mask=0, value=0):
        return sum(s[2] for s in self.samples if s[4] & mask == value)

    def warnings(self):
        return [text for kind, text in self.texts if kind == 3]


def read_folder(folder):
    """Data files of a folder, in the order of their start."""
    found = [Data(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".live")]
    return sorted(found, key=lambda d: d.start_ns)
