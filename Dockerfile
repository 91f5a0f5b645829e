# The image of a node of Cairn (docs/operations/container.md):
#   docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD) --tag cairn:dev .
# A build that can be repeated names the base by its digest: --build-arg NODE_IMAGE=node@sha256:…
# `npm run image` makes the same layout without Docker.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --include=dev --no-audit --no-fund
COPY . .
# Git and its history are not in here.
ARG COMMIT=unknown
ARG SOURCE_DATE_EPOCH=0
RUN SOURCE_COMMIT="${COMMIT}" npm run image -- --program-only --rootfs /image

FROM ${NODE_IMAGE}
RUN groupadd --gid 65532 cairn \
 && useradd --uid 65532 --gid cairn --home-dir /var/lib/cairn --no-create-home --shell /usr/sbin/nologin cairn \
 && install --directory --owner=cairn --group=cairn --mode=0700 /var/lib/cairn
COPY --from=build /image/ /
ARG COMMIT=unknown
ARG CREATED=1970-01-01T00:00:00.000Z
LABEL org.opencontainers.image.title="cairn" \
      org.opencontainers.image.description="An event database for Kubernetes: CloudEvents in numbered revisions, transactions under optimistic constraints, every earlier revision readable." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production \
    CAIRN_DATA_DIR=/var/lib/cairn \
    CAIRN_HOST=0.0.0.0
USER 65532:65532
WORKDIR /var/lib/cairn
VOLUME /var/lib/cairn
EXPOSE 50051 50052 3000 3001 9464
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/cairn"]
