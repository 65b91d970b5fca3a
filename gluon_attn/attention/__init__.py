"""Attention mechanisms, one file each.

=========================  ==========================================================================================
:mod:`.additive`           v . tanh(W q + U k): Bahdanau et al. (2015); Luong et al.'s *concat*
:mod:`.multiplicative`     dot, general, scaled dot: Luong et al. (2015), Vaswani et al. (2017)
:mod:`.global_attention`   softmax over the whole source sentence, and the *location* score: Luong et al. (2015)
:mod:`.local`              softmax over a window of the source, *local-m* and *local-p*: Luong et al. (2015)
:mod:`.pooling`            pooling with a learned query, and mean and max pooling: Yang et al. (2016)
:mod:`.structured`         several learned queries, and the penalty on their redundancy: Lin et al. (2017)
:mod:`.intra`              a word attends to the memories of the words before it: Cheng et al. (2016)
:mod:`.multihead`          several heads, self- and cross-attention: Vaswani et al. (2017)
:mod:`.relative`           relative positions in the scores: Shaw et al. (2018), Dosovitskiy et al. (2021)
:mod:`.ladder`             from one learned query to many heads, one generalisation at a time
:mod:`.masks`              masks from lengths, and additive masks
=========================  ==========================================================================================

There are four interfaces. *Cells* are called like GluonNLP's ``AttentionCell``, ``(query, key, value=None, mask=None)
-> (context, weights)``, batch first, with a 0/1 mask of shape (batch, query_length, memory_length). *Scores* are for
decoders, which attend to the same memory at every step: ``keys(F, memory)`` is called once per sentence, then
``(query, keys) -> scores`` at each step; global and local attention turn these into weights. *Pooling* has no query:
``(states, mask) -> (context, weights)`` with a 0/1 mask (batch, length). *Multi-head* attention reads (length, batch,
units), intra-attention one word at a time (batch, units); both have additive masks (:func:`.masks.additive_mask`).
Weights are always returned and never stored on the block.
"""
