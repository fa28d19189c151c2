"""Makes the shell of a small page without Preact: make_shell.py REPORT.html STYLE.css... SCRIPT.js... OUTPUT.html

The colours and fonts are those of the report page as it is committed: all of its style before the first plain rule.
Script and style are named by hash in the content policy, so nothing else in a page can run.
"""
import base64
import hashlib
import sys

SHELL = '''<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title><!--TITLE--></title>
<style>%s</style>
</head>
<body>
<main id="page"><!--BODY--></main>
<!--DATA-->
<script>%s</script>
</body>
</html>
'''


def named(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


report, *parts, output = sys.argv[1:]
tokens = open(report, encoding='utf-8').read().split('<style>', 1)[1].split('*{box-sizing')[0]
assert '--accent' in tokens and 'data-theme=dark' in tokens, 'the colours of the report page have moved'
css, js = ('\n'.join(open(part, encoding='utf-8').read() for part in parts if part.endswith(end)) for end in ('.css', '.js'))
css = tokens + css
assert '</' + 'script' not in js and '</' + 'style' not in css
with open(output, 'w', encoding='utf-8') as out:
    out.write(SHELL % (named(js), named(css), css, js))
