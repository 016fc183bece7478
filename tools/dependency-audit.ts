export type Audit =
  | { readonly state: 'clean' }
  | { readonly state: 'findings'; readonly names: readonly string[] }
  | { readonly state: 'unavailable'; readonly reason: string }

const SEVERE = new Set(['high', 'critical'])

type Report = {
  readonly vulnerabilities: Readonly<Record<string, { readonly severity?: unknown }>>
}

/**
 * Reads the output of `npm audit --json`. Without a network, or with a registry without audits,
 * there is no report: this does not count as a finding.
 */
export const readAudit = (printed: string): Audit => {
  const answer = parse(printed)
  if (!isReport(answer)) return { state: 'unavailable', reason: reasonOf(answer) }
  const names = Object.entries(answer.vulnerabilities)
    .filter(([, { severity }]) => typeof severity === 'string' && SEVERE.has(severity))
    .map(([name, { severity }]) => `${name} (${String(severity)})`)
  return names.length === 0 ? { state: 'clean' } : { state: 'findings', names }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isReport = (answer: unknown): answer is Report => {
  if (typeof answer !== 'object' || answer === null || !('vulnerabilities' in answer)) return false
  return typeof answer.vulnerabilities === 'object' && answer.vulnerabilities !== null
}

const reasonOf = (answer: unknown): string => {
  if (typeof answer !== 'object' || answer === null) return 'npm printed no report'
  if ('statusCode' in answer) return `the registry answered ${String(answer.statusCode)}`
  return 'npm could not reach the registry'
}
