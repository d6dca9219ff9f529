"""Run every case and print the failures: `python -m tests.hostile`."""

import sys

from tests.hostile.runner import main

sys.exit(main())
