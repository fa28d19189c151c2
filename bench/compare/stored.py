#!/usr/bin/env python3
"""Comparisons of `sonde diff` drawn from the stored runs of a campaign: how many report what?

    python3 bench/compare/stored.py build CAMPAIGN... --equal a1,a2 [--changed b3] [--blocks 8] [--draws 60]

A campaign has two configurations that are equal (and one that is changed), in blocks. A draw takes some of its blocks, near each
other in time. Without --changed the two equal runs of each block are tossed onto the two sides: whatever the machine did, there
is no difference but by chance, and every finding is a false alarm. With it one of the equal ones is compared with the changed one, and a
finding is right if it says slower. Draws share runs, so they are not independent of each other.
"""
import argparse
import json
import os
import random
import subprocess

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('build')
parser.add_argument('campaigns', nargs='+')
parser.add_argument('--equal', default='a1,a2')
parser.add_argument('--changed')
parser.add_argument('--blocks', type=int, default=8)
parser.add_argument('--draws', type=int, default=60)
args = parser.parse_args()
sonde = os.path.abspath(f'{args.build}/sonde')
equal = args.equal.split(',')
total = found = 0
for campaign in args.campaigns:
    status = json.loads(subprocess.run([sonde, 'campaign', 'status', '--format', 'json', campaign], capture_output=True, text=True).stdout)
    runs = {(r['configuration'], r['block']): f'{campaign}/{r["experiment"]}' for r in status['runs'] if r['state'] == 'done'}
    blocks = sorted({b for _, b in runs if all((c, b) in runs for c in equal + ([args.changed] if args.changed else []))})
    rng = random.Random(3)
    hits, width = 0, min(2 * args.blocks, len(blocks))
    for _ in range(args.draws):
        first = rng.randrange(len(blocks) - width + 1)
        sides = [[], []]
        of_all = rng.sample(equal, 2)
        for b in rng.sample(blocks[first:first + width], args.blocks):
            one, other = (of_all[0], args.changed) if args.changed else rng.sample(equal, 2)
            sides[0].append(runs[one, b])
            sides[1].append(runs[other, b])
        done = subprocess.run([sonde, 'diff', '--format', 'json', '--all', *sides[0], ':', *sides[1]], capture_output=True, text=True)
        verdicts = [r['verdict'] for r in json.loads(done.stdout)['rows']]
        hits += 'slower' in verdicts if args.changed else bool({'slower', 'faster'} & set(verdicts))
    print(f'{os.path.basename(campaign)}: {hits} of {args.draws}', flush=True)
    total, found = total + args.draws, found + hits
print(f'all: {found} of {total}, {found / total:.3f}')
