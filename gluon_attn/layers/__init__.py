"""Blocks that several models share.

========================  ==============================================================================================
:mod:`.embeddings`        embeddings of tokens with their syllables
:mod:`.encoders`          bidirectional and unidirectional recurrent encoders whose states do not depend on padding
:mod:`.cells`             one step of a GRU or LSTM decoder
:mod:`.readout`           from decoder state to the features of the output layer
:mod:`.graphs`            methods of a block as compiled graphs, one per shape
========================  ==============================================================================================
"""
