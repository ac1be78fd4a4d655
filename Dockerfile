# The container image of kai-sched, for machines with Docker or Podman:
#
#   docker build -t kai-sched:0.1.0 --build-arg VERSION=0.1.0 --build-arg REVISION=$(git rev-parse HEAD) .
#
# `make image` makes the same layers on Debian 12 without a container daemon: both run tools/image.py.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv
COPY . /src
WORKDIR /src
RUN tools/setup.sh && tools/wheel.sh && .venv/bin/python tools/image.py --layers /layers

FROM scratch
COPY --from=build /layers/base /
COPY --from=build /layers/kai /
ARG VERSION REVISION SOURCE
LABEL org.opencontainers.image.title="kai-sched" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="$SOURCE"
ENV PATH=/usr/local/bin:/usr/bin
USER 10000
ENTRYPOINT ["/usr/local/bin/kai"]
CMD ["--help"]
