"""structure.py over more binaries: at least a million instructions against objdump, more addresses against addr2line."""
import sys

sys.argv.append('--long')
import structure  # noqa: E402,F401  (runs on import)
