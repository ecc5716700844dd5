FROM node:22-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
COPY scripts/build.js scripts/launch.js ./scripts/
COPY db ./db
COPY src ./src
# The user of the image cannot write the code cache; the demo compiles what a server needs. The build tool is not needed
# at run time.
RUN npm run build && CODE_CACHE=write node dist/src/main.js demo && rm -r node_modules/esbuild node_modules/@esbuild node_modules/.bin/esbuild

# No Alpine image: the native part of the database driver needs glibc.
FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATABASE_URL=file:/data/grid.db
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
# exec: node receives the signals of Docker. The volume gets the owner and mode of /data.
RUN printf '#!/bin/sh\nexec node /app/dist/src/main.js "$@"\n' > /usr/local/bin/agent-grid \
    && chmod 755 /usr/local/bin/agent-grid \
    && mkdir --mode=700 /data \
    && chown node:node /data
USER node
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["agent-grid", "health"]
ENTRYPOINT ["agent-grid"]
CMD ["serve"]
