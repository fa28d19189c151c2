"""The static loop model against measured loops and chains, each machine by name: what was reached is kept."""
import os
import sys

from sonde_test import Test

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench', 'cqa')
sys.path.insert(0, BENCH)
import chains  # noqa: E402
import errors  # noqa: E402
import score  # noqa: E402

# loops measured on a machine, its name: MAPE and median in percent, tau; of the half that is not tuned on
LOOPS = (('corpus.tsv', 'zen5', 4.05, .62, .919),
         ('sapphirerapids/loops.tsv', 'sapphirerapids', 5.75, .72, .91))
# dependences measured there, its name: how many may be wrong
CHAINS = (('chains.tsv', 'zen5', 4), ('sapphirerapids/chains.tsv', 'sapphirerapids', 43))

TABLE = os.path.join(BENCH, '..', '..', 'data', 'machines', 'errors.tsv')

t = Test()
factors = dict(line.split('\t')[:2] for line in open(TABLE) if not line.startswith('#'))
for name, arch, most, median, tau in LOOPS:
    rows = score.rows_of(os.path.join(BENCH, name), 'test')
    estimates = [r['cycles'] for r in score.sonde(t.sonde, [r[4] for r in rows], arch)]
    told = score.scores(rows, estimates)
    t.equal(told.failed, 0, f'{arch}: every loop has a figure')
    t.check(100 * told.mape <= most, f'{arch}: the mean error stays within {most} %', told)
    t.check(100 * told.median <= median, f'{arch}: the median within {median} %', told)
    t.check(told.tau >= tau, f'{arch}: loops stand in the right order', told)
    # what intervals are widened by (data/machines/errors.tsv)
    held = errors.share_within(errors.log_errors(rows, estimates), float(factors[arch]))
    t.check(.94 < held < .97, f'{arch}: 95 % of ratios of two loops are within the factor', held)
for name, arch, most in CHAINS:
    forms, wrong = chains.check(t.sonde, os.path.join(BENCH, name), arch)
    t.check(len(forms) > 500 and len(wrong) <= most, f'{arch}: dependences are as measured', wrong)
t.done()
