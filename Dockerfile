# docker build --tag gluon-attn .
# docker run --rm gluon-attn                                                  (trains and compares the Naver network)
# docker run --rm --volume "$PWD/data:/data" --volume "$PWD/runs:/gluon-attn/runs" gluon-attn reproduce bahdanau2014
#     (corpora of ./data; what is trained stays in ./runs, and the same command continues it)
# The image has no clone, so what it trains names the commit "unknown".
FROM --platform=linux/amd64 python:3.11-bookworm
WORKDIR /gluon-attn
COPY . .
RUN make .venv/.project PYTHON=python3.11
ENV PATH="/gluon-attn/.venv/bin:$PATH" GLUON_ATTN_DATA=/data XDG_CACHE_HOME=/cache
VOLUME ["/data", "/cache"]
ENTRYPOINT ["gluon-attn"]
CMD ["reproduce", "naver_self_attention"]
