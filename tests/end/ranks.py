"""Makes an experiment of many ranks from one of a few: the data of each are copied under other ranks, hosts and pids.

    ranks.py FROM TO RANKS RANKS_OF_A_HOST
"""
import glob
import json
import os
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__))))
import datafile  # noqa: E402

LAYOUT = datafile.HEADER.format
PID = struct.calcsize('<QIIIIIIII')
RANK = struct.calcsize('<QIIIIIIIIiiII')
HOST = struct.calcsize(LAYOUT.split('64s')[0])
NEXT_CHUNK = struct.calcsize('<QIIII')


def images(data):
    """The process images of a data file, one behind the other."""
    while data:
        chunks, = struct.unpack_from('<I', data, NEXT_CHUNK)
        length = 4096 + 8192 * chunks
        yield data[:length]
        data = data[length:]


def make(source, target, ranks, of_a_host):
    os.makedirs(target)
    shutil.copytree(source + '/extracts', target + '/extracts')
    shutil.copy(source + '/launch-key', target)
    launches = sorted(glob.glob(source + '/launch.*.json'))
    for rank in range(ranks):
        path = launches[rank % len(launches)]
        launch = json.load(open(path))
        data = open(f'{source}/{launch["host"]}.{launch["pid"]}.data', 'rb').read()
        host, pid = f'node{rank // of_a_host:04}', 10000 + rank % of_a_host * 10
        out = b''
        for number, image in enumerate(images(data)):
            image = bytearray(image)
            struct.pack_into('<i', image, PID, pid + 1 + number)
            struct.pack_into('<iI', image, RANK, rank, ranks)
            image[HOST:HOST + 64] = host.encode().ljust(64, b'\0')
            out += image
        open(f'{target}/{host}.{pid}.data', 'wb').write(out)
        launch.update(host=host, pid=pid, rank=rank, target_pid=pid + 1)
        json.dump(launch, open(f'{target}/launch.{host}.{pid}.json', 'w'))


if __name__ == '__main__':
    make(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
