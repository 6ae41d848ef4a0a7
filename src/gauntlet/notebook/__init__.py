"""What `import gauntlet` offers to notebooks and scripts: `load`, `run`, tidy tables and charts."""
