# syntax=docker/dockerfile:1
# zeta-scaler as an image: `docker build -t zeta-scaler --build-arg VERSION=$(git describe --tags --always) .`; the simulator of the compose stack: `--target simulator`.
# The build stage runs what the README names. This file could not be built where it was written (no registry of images):
# its build command and its binary are tested, its base images are not.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
# What the program says that it is: the context has no .git to ask.
ARG VERSION=unknown
ARG REVISION=unknown
ARG BUILDDATE=unknown
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH make build VERSION=$VERSION REVISION=$REVISION BUILDDATE=$BUILDDATE
# The folder for data, with the owner that the final image runs as: scratch-like images cannot make one.
RUN mkdir -p /out/data

FROM build AS build-simulator
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags "-s -w" -o bin/simulator ./deploy/simulator

# A simulated Zeta and a webhook sink, for the compose stack only.
FROM gcr.io/distroless/static-debian12:nonroot AS simulator
COPY --from=build-simulator /src/bin/simulator /simulator
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/simulator"]

FROM gcr.io/distroless/static-debian12:nonroot AS zeta-scaler
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="zeta-scaler" \
      org.opencontainers.image.description="Autoscaler for Apache SeaTunnel's Zeta engine" \
      org.opencontainers.image.source="https://github.com/zeta-scaler/zeta-scaler" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /src/bin/zeta-scaler /zeta-scaler
COPY --from=build /src/LICENSE /LICENSE
COPY --from=build --chown=65532:65532 /out/data /var/lib/zeta-scaler
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /var/lib/zeta-scaler
EXPOSE 9880 9881
VOLUME ["/var/lib/zeta-scaler"]
# The image has no shell and no curl: the client asks. It says nothing about an `exporter`, which compose checks otherwise.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s CMD ["/zeta-scaler", "status", "--server=http://127.0.0.1:9880"]
ENTRYPOINT ["/zeta-scaler"]
CMD ["serve", "--config.file=/etc/zeta-scaler/zeta-scaler.yml"]
