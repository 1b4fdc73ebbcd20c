"""The studio: a page on this machine where people see clusters and say what they know.

``wishes`` (what the person entered) -> ``desk`` (one table, shared by all pages) -> ``worker`` and
``solving`` (the solver's own process); ``server`` and ``guard`` are the JSON interface,
``static/`` the page.
"""
