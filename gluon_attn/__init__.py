"""Attention on MXNet: mechanisms, models, training, decoding, plots. Tensors in, tensors out.

Importing this package does not import MXNet: ``gluon_attn.runtime.configure`` must be able to run first.
"""

__version__ = "0.1.0"
