"""`python -P -m acp_notebook.bridge`: the same as `acp-notebook bridge`."""

import sys

from acp_notebook.bridge.cli import main

sys.exit(main())
