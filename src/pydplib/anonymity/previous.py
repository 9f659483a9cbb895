"""tmp."""
class Trace:
    @staticmethod
    def lazily(*a): return None
