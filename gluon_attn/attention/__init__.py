"""The mechanisms of attention, one file each.

=========================  ==========================================================================================
:mod:`.additive`           v . tanh(W q + U k): Bahdanau et al. (2015); Luong et al.'s *concat*
:mod:`.multiplicative`     dot, general, scaled dot: Luong et al. (2015), Vaswani et al. (2017)
:mod:`.global_attention`   the softmax over a whole source sentence, and the *location* score: Luong et al. (2015)
:mod:`.local`              a window of the source, *local-m* and *local-p*: Luong et al. (2015)
:mod:`.pooling`            a learned query over one text, and mean and maximum instead: Yang et al. (2016)
:mod:`.structured`         several learned queries, and the penalty on their redundancy: Lin et al. (2017)
:mod:`.intra`              from a word to the memories before it: Cheng et al. (2016)
:mod:`.multihead`          several heads, self- and cross-attention: Vaswani et al. (2017)
:mod:`.ladder`             from one learned query to many heads, one generalisation at a time
:mod:`.masks`              from lengths to masks, and from masks to scores
=========================  ==========================================================================================

Three kinds of call. *Cells* are called as GluonNLP's ``AttentionCell``, ``(query, key, value=None, mask=None) ->
(context, weights)``, batch first, with a mask of 0/1 of shape (batch, query_length, memory_length). *Scores* are for
decoders, which attend to the same memory at every step: ``keys(F, memory)`` once for a sentence, then ``(query, keys)
-> scores`` at each step. *Pooling* has no query: ``(states, mask) -> (context, weights)``. Weights are always returned
and never stored on the block.
"""
