"""The learner of `EnergyHasher`: features, opinions, the loop, and scores of labels."""
