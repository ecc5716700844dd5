# The image has the single binary and nothing else of ours. Other bases must have glibc and libgcc: --build-arg BASE=…
# With the binary of "npm run lab -- binary" at hand, and an empty folder data beside it: --build-context binary=release
ARG BUILD=node:22-slim
ARG BASE=gcr.io/distroless/cc-debian12

FROM ${BUILD} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY scripts ./scripts
COPY db ./db
COPY src ./src
COPY docs ./docs
COPY LICENSE ./
ARG COMMIT
RUN npm run lab -- binary --outfile /out/agent-grid ${COMMIT:+--commit ${COMMIT}} && mkdir /out/data

FROM scratch AS binary
COPY --from=build /out /

FROM ${BASE}
COPY --from=binary --chmod=755 /agent-grid /usr/local/bin/agent-grid
# The volume gets the owner and mode of /data. The user has no name in some bases.
COPY --from=binary --chmod=700 --chown=65532:65532 /data /data
ENV HOST=0.0.0.0 DATABASE_URL=file:/data/grid.db
USER 65532:65532
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["/usr/local/bin/agent-grid", "health"]
ENTRYPOINT ["/usr/local/bin/agent-grid"]
CMD ["serve"]
