"""``python -m reproductions COMMAND``."""

import signal
import sys

if sys.argv[1:2] in (["train-run"], ["score-run"], ["serve-gradients"]):
    # Ctrl-C also reaches the command that started this process; that command ends it, so the signal is ignored here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

from reproductions.cli.app import main  # imported after that, because the import takes long enough to be interrupted

if __name__ == "__main__":
    main()
