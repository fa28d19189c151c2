"""Debug files come from a debuginfod server where that is asked for, and no server is asked else."""
import http.server
import os
import threading

from sonde_test import Test

PROGRAM = r'''
#include <stdint.h>
#include <stdio.h>

__attribute__((noinline)) static uint64_t hidden_name(uint64_t x)
{
	for (uint64_t i = 0; i < 400000000; i++)
		x = x * 3 + i;
	return x;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%llu\n", (unsigned long long)hidden_name((uint64_t)argc));
	return 0;
}
'''


def serve(files, asked):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = files.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header('Content-Length', str(len(body or b'')))
            self.end_headers()
            self.wfile.write(body or b'')

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def names(t, experiment):
    return {row['function'] for row in t.show('functions', experiment=experiment)['rows']}


def main():
    t = Test()
    if not t.has('debuginfod-find'):
        t.skip('debuginfod', 'there is no debuginfod-find here')
        return t.done()
    app = t.compile(PROGRAM, '-O2', '-g', '-Wl,--build-id', output='./app')
    notes = t.command('readelf', '-n', app).stdout
    build_id = notes.split('Build ID:')[1].split()[0]
    t.command('objcopy', '--only-keep-debug', app, 'kept')
    t.command('strip', '--strip-all', app)
    asked = []
    server = serve({f'/buildid/{build_id}/debuginfo': open('kept', 'rb').read()}, asked)
    os.environ['DEBUGINFOD_CACHE_PATH'] = os.path.join(t.folder, 'debuginfod-cache')
    os.environ['DEBUGINFOD_URLS'] = f'http://127.0.0.1:{server.server_port}'
    t.run('record', '-o', 'without', app)
    t.check('hidden_name' not in names(t, 'without') and not asked, 'no server is asked unless told to', asked)
    t.run('record', '--debuginfod', '-o', 'with', app)
    t.check('hidden_name' in names(t, 'with'), 'the name comes from the server', names(t, 'with'), asked)
    lines = {row.get('file') or row.get('source') for row in t.show('functions', experiment='with')['rows']}
    t.check(any(line and line.endswith('.c') for line in lines), 'and the source file too', lines)
    del os.environ['DEBUGINFOD_URLS']
    done = t.run('record', '--debuginfod', '-o', 'unset', app)
    t.check(done.returncode == 0 and 'DEBUGINFOD_URLS' in done.stderr, 'no server named: one sentence, and it measures',
            done.stderr)
    server.shutdown()
    t.done()


main()
