"""Kinds of scenarios, one file each; `gauntlet.scenario.registry` lists them."""
