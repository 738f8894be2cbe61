"""Tables from databases: connections that a deployment declares, and saved queries whose rows become tables."""
