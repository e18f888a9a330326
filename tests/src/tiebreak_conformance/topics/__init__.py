"""The checks, a class per topic; a plugin's test class inherits those that it wants to be held to."""
