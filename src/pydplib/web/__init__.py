"""The platform in the browser: capture, policy, audit; a Django project started by ``pydplib serve``."""
