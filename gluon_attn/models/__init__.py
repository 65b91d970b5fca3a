"""One architecture per file, readable next to its paper.

==================================  ==================================================================================
:mod:`.encoder_decoder`             base class of all encoder-decoders
:mod:`.rnnencdec`                   RNN encoder-decoder: Cho et al. (2014)
:mod:`.deep_lstm`                   deep LSTM: Sutskever et al. (2014), and with attention Luong et al. (2015)
:mod:`.rnnsearch`                   RNNsearch: Bahdanau et al. (2015)
:mod:`.transformer`                 Transformer: Vaswani et al. (2017)
:mod:`.bert`                        BERT: Devlin et al. (2019)
:mod:`.published_bert`              a published network with BERT's architecture, loaded into GluonNLP's ``BERTModel``
:mod:`.self_attention_classifier`   the network of the GluonNLP post on Naver reviews, and its baselines
:mod:`.stacked_classifier`          stacked recurrent layers with attention and max pooling
:mod:`.structured_classifier`       structured self-attention: Lin et al. (2017)
:mod:`.hierarchical_attention`      hierarchical attention networks: Yang et al. (2016)
:mod:`.lstmn`                       long short-term memory-networks: Cheng et al. (2016)
:mod:`.language_model`              language models over an LSTM or an LSTMN
:mod:`.neural_language_model`       the neural probabilistic language model: Bengio et al. (2003)
:mod:`.kneser_ney`                  interpolated Kneser-Ney n-grams: Chen and Goodman (1998)
:mod:`.fasttext`                    bag of tricks: Joulin et al. (2017)
:mod:`.wide_and_deep`               a recurrent network and fastText, trained together: H.-T. Cheng et al. (2016)
:mod:`.word2vec`                    skip-gram and CBOW: Mikolov et al. (2013)
:mod:`.vision_transformer`          Vision Transformer: Dosovitskiy et al. (2021)
:mod:`.resnet`                      a small residual network: He et al. (2016)
:mod:`.efficientnet`                EfficientNet-Lite0, which extracts image features: Tan and Le (2019)
:mod:`.show_attend_tell`            image captioning with attention: Xu et al. (2015)
:mod:`.visual_attention_driving`    steering from camera frames with visual attention: Kim and Canny (2017)
:mod:`.outputs`                     the named tuples that models return
==================================  ==================================================================================
"""
