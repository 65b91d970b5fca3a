"""``python -m reproductions COMMAND``."""

from reproductions.cli.app import main

if __name__ == "__main__":
    main()
