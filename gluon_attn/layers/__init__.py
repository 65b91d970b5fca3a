"""Blocks that several models share.

========================  ==============================================================================================
:mod:`.embeddings`        embeddings of tokens with their syllables
:mod:`.encoders`          bidirectional and unidirectional recurrent encoders whose states do not depend on padding
:mod:`.cells`             one step of a GRU or LSTM decoder
:mod:`.readout`           from decoder state to the features of the output layer
:mod:`.transformer`       layers of a Transformer's encoder and decoder
:mod:`.positions`         where a token is in its sequence: sinusoids, learned vectors
:mod:`.images`            patches, a convolutional stem, and the positions of a grid
:mod:`.normalization`     layer normalisation by matrix products
:mod:`.graphs`            methods of a block as compiled graphs, one per shape
========================  ==============================================================================================
"""
