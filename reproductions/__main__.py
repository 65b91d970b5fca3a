"""``python -m reproductions COMMAND``."""

import signal
import sys

if sys.argv[1:2] in (["train-run"], ["score-run"], ["serve-gradients"]):
    # Ctrl-C reaches the command that started this process too, which ends it; it has nothing to print itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

from reproductions.cli.app import main  # after that: importing it takes long enough to be interrupted

if __name__ == "__main__":
    main()
