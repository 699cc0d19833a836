# Toolcrib in a container. Two images come of this file:
#
#   docker build -t toolcrib .                         with Node.js, for servers that npx starts
#   docker build -t toolcrib:static --target static .  the program alone, for remote and built-in servers
#
# Both run as the user 1000, keep what has to last in /data and /config, and
# listen on port 8080, where everybody has to show a token.

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY internal internal
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /out/toolcrib ./cmd/toolcrib
RUN mkdir /out/data /out/config

FROM scratch AS static
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/toolcrib /usr/local/bin/toolcrib
# A new volume takes over the owner of the directory that it is put on.
COPY --from=build --chown=1000:1000 /out/data /data
COPY --from=build --chown=1000:1000 /out/config /config
ENV TOOLCRIB_DATA_DIR=/data TOOLCRIB_CONFIG=/config/toolcrib.json PATH=/usr/local/bin
USER 1000:1000
VOLUME /data /config
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["toolcrib", "status"]
ENTRYPOINT ["toolcrib"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--require-token"]

FROM node:24.21.0-bookworm-slim
# Servers leave processes behind, which the first process of a container has to
# take leave of. Toolcrib does so for its own, tini for all.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates tini \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o 1000 -g 1000 -m 700 /data /config /home/node/.npm
COPY --from=build /out/toolcrib /usr/local/bin/toolcrib
ENV TOOLCRIB_DATA_DIR=/data TOOLCRIB_CONFIG=/config/toolcrib.json HOME=/home/node
USER 1000:1000
WORKDIR /home/node
VOLUME /data /config
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["toolcrib", "status"]
ENTRYPOINT ["tini", "--", "toolcrib"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--require-token"]
