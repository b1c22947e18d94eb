"""Is busy with itself before it reads anything: as many seconds as its argument says, 0.5 by default."""

import sys
import time

import _wire

time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0.5)
_wire.serve()
