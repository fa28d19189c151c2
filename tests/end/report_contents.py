"""Reads the data of a report page (docs/format/report-page.md), apart from the page's own reader."""
import base64
import gzip
import json
import re
import struct


def contents(path):
    """The table of contents and a reader of chunks: columns as lists. An own reader, in Python."""
    text = open(path, encoding='utf-8').read()
    toc = json.loads(re.search(r'<script type="application/json" id="toc">(.*?)</script>', text, re.S)[1])

    def chunk(name):
        entry = next(c for c in toc['chunks'] if c['name'] == name)
        raw = gzip.decompress(base64.b64decode(
            re.search(rf'<script type="application/x-sonde" id="chunk-{name}">(.*?)</script>', text)[1]))
        rows, at, out = entry['rows'], 0, {}
        for column, kind in entry['columns']:
            width = {'u8': 1, 'u16': 2, 'f64': 8}.get(kind, 4)
            planes = raw[at:at + rows * width]
            at += rows * width
            joined = b''.join(bytes(planes[p * rows + i] for p in range(width)) for i in range(rows))
            code = {'u8': 'B', 'u16': 'H', 'f64': 'd'}.get(kind, 'I')
            values = list(struct.unpack(f'<{rows}{code}', joined))
            if kind == 'd32':
                before = 0
                for i, step in enumerate(values):
                    values[i] = before = (before + ((step >> 1) ^ -(step & 1))) & 0xffffffff
            if kind == 'text':
                lengths, values = values, []
                for length in lengths:
                    values.append(raw[at:at + length].decode('utf-8', 'replace'))
                    at += length
            out[column] = values
        return out

    return toc, chunk
