"""Chromium without a screen, driven through its debugging protocol with nothing but the standard
library: pages are opened, scripts evaluated, screenshots taken; what the page complains about or
asks the network for is kept.

    with Browser() as browser:
        page = browser.open('file:///tmp/report.html')
        page.wait("document.body.dataset.ready === 'summary'")
        page.errors, page.requests, page.evaluate('1 + 1'), page.screenshot()
"""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

NAMES = ('chromium', 'chromium-browser', 'google-chrome')


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Socket:
    """A WebSocket client (RFC 6455), text frames only."""

    def __init__(self, url):
        host, path = url.removeprefix('ws://').split('/', 1)
        name, port = host.split(':')
        self.socket = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f'GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n'
                             f'Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n'
                             'Sec-WebSocket-Version: 13\r\n\r\n').encode())
        self.rest = b''
        while b'\r\n\r\n' not in self.rest:
            self.rest += self.socket.recv(65536)
        head, self.rest = self.rest.split(b'\r\n\r\n', 1)
        if b' 101 ' not in head.split(b'\r\n')[0]:
            raise RuntimeError(f'the browser refused: {head[:200]}')

    def read(self, count):
        while len(self.rest) < count:
            more = self.socket.recv(1 << 20)
            if not more:
                raise RuntimeError('the browser closed the connection')
            self.rest += more
        out, self.rest = self.rest[:count], self.rest[count:]
        return out

    def send(self, text):
        data = text.encode()
        mask = os.urandom(4)
        size = len(data)
        head = struct.pack('!BB', 0x81, 0x80 | size) if size < 126 else \
            struct.pack('!BBH', 0x81, 0xfe, size) if size < 65536 else struct.pack('!BBQ', 0x81, 0xff, size)
        self.socket.sendall(head + mask + bytes(b ^ mask[i & 3] for i, b in enumerate(data)))

    def receive(self):
        text = b''
        while True:
            first, second = self.read(2)
            size = second & 127
            if size == 126:
                size = struct.unpack('!H', self.read(2))[0]
            elif size == 127:
                size = struct.unpack('!Q', self.read(8))[0]
            part = self.read(size)
            if first & 15 in (0, 1):
                text += part
            if first & 0x80 and first & 15 in (0, 1):
                return text.decode()


class Page:
    def __init__(self, url):
        self.socket = Socket(url)
        self.number = 0
        self.errors, self.requests = [], []
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def call(self, method, **params):
        self.number += 1
        number = self.number
        self.socket.send(json.dumps({'id': number, 'method': method, 'params': params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get('id') == number:
                if 'error' in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message['result']
            self.note(message)

    def note(self, message):
        method, params = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            details = params['exceptionDetails']
            self.errors.append(details.get('exception', {}).get('description') or details['text'])
        elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
            self.errors.append(params['entry']['text'])
        elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'warning', 'assert'):
            self.errors.append(str(params['args']))
        elif method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])

    def open(self, url):
        self.call('Page.navigate', url=url)

    def evaluate(self, script):
        got = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in got:
            raise RuntimeError(got['exceptionDetails'].get('exception', {}).get('description', str(got)))
        return got['result'].get('value')

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.evaluate(script):
                    return True
            except RuntimeError:
                pass  # between two documents
            time.sleep(0.03)
        return False

    def key(self, key):
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=key if len(key) == 1 else '')
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key)

    def drag(self, x0, y0, x1, y1):
        mouse = lambda kind, x, y: self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left',
                                             buttons=0 if kind == 'mouseReleased' else 1, clickCount=1)
        mouse('mousePressed', x0, y0)
        for i in range(1, 5):
            mouse('mouseMoved', x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4)
        mouse('mouseReleased', x1, y1)

    def wheel(self, x, y, by, ctrl=False):
        self.call('Input.dispatchMouseEvent', type='mouseWheel', x=x, y=y, deltaX=0, deltaY=by, modifiers=2 if ctrl else 0)

    def point(self, x, y):
        self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)

    def size(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                  mobile=False)

    def media(self, scheme=None, kind=''):
        features = [{'name': 'prefers-color-scheme', 'value': scheme}] if scheme else []
        self.call('Emulation.setEmulatedMedia', media=kind, features=features)

    def screenshot(self):
        return base64.b64decode(self.call('Page.captureScreenshot', format='png')['data'])

    def pdf(self):
        return base64.b64decode(self.call('Page.printToPDF', preferCSSPageSize=True)['data'])


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='sonde-browser-')
        self.process = subprocess.Popen(
            [find(), '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--hide-scrollbars',
             '--remote-debugging-port=0', '--user-data-dir=' + self.folder, 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = os.path.join(self.folder, 'DevToolsActivePort')
        end = time.monotonic() + 40
        self.port = None
        while self.port is None:
            if time.monotonic() > end or self.process.poll() is not None:
                self.close()
                raise RuntimeError('the browser did not start')
            if os.path.exists(path) and open(path).read().count('\n'):
                self.port = int(open(path).read().split()[0])
            time.sleep(0.05)

    def open(self, url=None):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}/json/new?about:blank', method='PUT')
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        page = Page(json.load(opener.open(request, timeout=30))['webSocketDebuggerUrl'])
        page.browser = self
        if url:
            page.open(url)
        return page

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
