"""
Another process that holds a ledger's write lock: prints `held`, and lets go when stdin ends.

    python -m tests.bridge.holder LEDGER
"""

import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
db.execute("ROLLBACK")
