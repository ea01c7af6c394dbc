"""The checks: plain functions of the judge's that call a student's function and measure.

Each takes ``(student, draw)`` and returns a :class:`autograder.outcome.Verdict`. They need numpy
and the core of svmlab only.
"""
