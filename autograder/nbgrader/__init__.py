"""The course as nbgrader keeps it, and stock nbgrader on our judge.

``course`` opens it, ``gradebook`` records what was judged, ``graded`` builds the notebooks that
people look at, ``plugins`` is what a course's configuration calls.
"""
