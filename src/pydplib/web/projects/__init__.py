"""Projects: purpose, members, data flow policy, requests; and the permissions that every page passes."""
