"""Grades student notebooks by certificate; so far only its place is here."""
