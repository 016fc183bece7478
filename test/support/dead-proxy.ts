/** A proxy that does not answer, for all requests. */
export const DEAD_PROXY: Readonly<Record<string, string>> = Object.fromEntries(
  ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [name, 'http://127.0.0.1:9']),
)
