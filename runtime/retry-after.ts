const MS_PER_SECOND = 1_000

/** The milliseconds of a Retry-After, which has seconds or a date (RFC 9110, 10.2.3). */
export const retryAfterMs = (header: string | null | undefined): number | undefined => {
  if (!header) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * MS_PER_SECOND : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
