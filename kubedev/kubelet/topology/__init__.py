"""The topology manager: hints, their merge, and the policies that accept or refuse it."""
