"""Projects: purpose, members, data flow policy, requests; and the doors that every page passes."""
