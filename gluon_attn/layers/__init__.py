"""Blocks that several models share.

========================  ==============================================================================================
:mod:`.embeddings`        token embeddings that include syllables
:mod:`.encoders`          bidirectional and unidirectional recurrent encoders whose states do not depend on padding
:mod:`.cells`             one step of a GRU or LSTM decoder
:mod:`.readout`           maps the decoder state to the features of the output layer
:mod:`.transformer`       encoder and decoder layers of the Transformer
:mod:`.positions`         position embeddings: sinusoids, learned vectors
:mod:`.images`            patches, a convolutional stem, and position embeddings of a grid
:mod:`.normalization`     layer normalisation by matrix products
:mod:`.lengths`           checks the lengths of padded sequences
:mod:`.graphs`            compiles the methods of a block, one graph per shape
========================  ==============================================================================================
"""
