"""The JSON API at ``/api/v1``: the same permissions as the pages, opened by tokens; one router per topic."""
