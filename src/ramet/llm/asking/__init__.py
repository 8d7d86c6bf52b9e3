"""Models inside anybody's handlers: asked under the ceilings of money, paid once, checked, and with tools."""
