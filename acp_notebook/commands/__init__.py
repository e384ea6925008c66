"""The commands of the command line, one module each; `__main__` calls them."""
