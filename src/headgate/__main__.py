"""`python -m headgate`: the command, where only the interpreter is known."""

from headgate.cli import main

if __name__ == "__main__":
    main()
