const PARTS = /^(.{19})(?:\.(\d+))?(.+)$/

/** The microseconds since 1970 of a date-time of RFC 3339, rounded as Postgres does. */
export const instantOf = (dateTime: string): number => {
  const [, seconds, fraction = '0', offset] = PARTS.exec(dateTime.toUpperCase())!
  return Date.parse(`${seconds}${offset}`) * 1_000 + Math.round(Number(`0.${fraction}`) * 1_000_000)
}
