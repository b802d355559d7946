"""BBR and BMR, the programs of GLM07: their model files, and their commands with their flags."""
