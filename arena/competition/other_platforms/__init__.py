"""Settings from the files of other platforms: Codabench and CodaLab bundles, EvalAI challenges.

What has a counterpart is taken over. Every other key is named, by construction: a key that nothing
takes is among those left out.
"""
