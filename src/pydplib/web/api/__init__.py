"""The JSON API at ``/api/v1``: the same doors as the pages, opened by tokens; one router per topic."""
