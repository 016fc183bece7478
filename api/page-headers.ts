/** Headers of our own pages and their files. */
export const PAGE_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  // Nothing is inline, and nothing comes from another host; style sheets may have icons as data.
  // Scripts, also Swagger UI's when a reader tries a request, ask this service only.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
} as const
