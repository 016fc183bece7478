# The lock is npm's, so npm installs what it says; only Bun is in the image that runs.
FROM node:22.20.0-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# Not `npm ci`, which refuses a lock that was made where the registry has no packages for some platforms of the tools for
# development. The versions are those of the lock all the same. The optional packages are the embedded PostgreSQL, for
# `npm start` and tests; no package that stays needs an install script.
RUN npm install --no-save --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM oven/bun:1.4.5-slim
ENV NODE_ENV=production
WORKDIR /app
# Owned by root: the user that runs the service cannot change it.
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY contract ./contract
COPY runtime ./runtime
COPY queue ./queue
COPY health ./health
COPY db ./db
COPY cli ./cli
COPY api ./api
COPY tagger ./tagger
COPY worker ./worker
USER bun
EXPOSE 3000
CMD ["bun", "api/main.ts"]
