# Builds the one binary and puts it on a small image; the database driver is compiled in.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p skald

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --create-home --home-dir /var/lib/skald skald
COPY --from=build /src/target/release/skald /usr/local/bin/skald
USER skald
WORKDIR /var/lib/skald
ENV SKALD_DATA_DIR=/var/lib/skald/data
# Inside a container loopback is nobody's: to be reached, set SKALD_LISTEN=0.0.0.0:50051 and SKALD_TOKENS.
EXPOSE 50051
ENTRYPOINT ["skald"]
CMD ["serve"]
