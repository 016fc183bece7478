# The lock file is npm's, so npm installs the packages. The final image has Bun alone.
FROM node:22.20.0-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# Not `npm ci`: it refuses a lock file that lacks the packages of some platforms for development
# tools. npm still installs the versions of the lock file. The optional packages are the embedded
# PostgreSQL of `npm start` and tests. No other package needs an install script.
RUN npm install --no-save --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM oven/bun:1.4.5-slim
ENV NODE_ENV=production
WORKDIR /app
# Root owns the files, so the user of the service cannot change them.
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY contract ./contract
COPY fold ./fold
COPY runtime ./runtime
COPY queue ./queue
COPY health ./health
COPY insights ./insights
COPY db ./db
COPY client ./client
COPY cli ./cli
COPY api ./api
COPY alerts ./alerts
COPY meaning ./meaning
COPY tagger ./tagger
COPY worker ./worker
USER bun
EXPOSE 3000
CMD ["bun", "api/main.ts"]
