"""One module a family of vectors, named after it.

It offers `answer(case_in) -> dict`, what kubedev answers to a case's `in`; compared are exactly the keys
that stand in the case's `out`. Where equality of values is not the rule (sets of possible answers, classes
of errors), it offers `differences(case) -> list[str]` instead, empty when kubedev agrees.
"""
