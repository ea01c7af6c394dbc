"""Support vector machines to read, to do and to grade."""
