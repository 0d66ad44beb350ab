"""The dashboard and the API: pages, JSON and streams over HTTP, from the operation registry and the services."""
