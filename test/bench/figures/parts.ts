import type { Rule } from './profile.ts'

const SHARED: readonly Rule[] = [
  { part: 'parse', native: /^parse$|^json$/ },
  { part: 'hash', native: /^(?:Hash|Hmac|update|digest|createHash|createHmac)$/ },
  { part: 'hash', file: /\/contract\/identity\/own-id\.ts|\/contract\/idempotency\.ts/ },
  { part: 'queue', file: /\/node_modules\/bullmq\/|\/queue\/hand-over/ },
  { part: 'client of Redis', file: /\/node_modules\/(?:ioredis|redis-parser)\//, vague: true },
  { part: 'client of Postgres', file: /\/node_modules\/postgres\//, vague: true },
  { part: 'logs, metrics, traces', file: /\/process\/|\/prom-client\/|\/opentelemetry\// },
]

/** Which part of the API's work a frame belongs to. */
export const API_RULES: readonly Rule[] = [
  ...SHARED,
  { part: 'HTTP', file: /\/node_modules\/(?:elysia|@elysiajs|memoirist|exact-mirror)\// },
  { part: 'parse', file: /\/api\/submit\/(?:read-body|json-text)\.ts/ },
  { part: 'validate', file: /\/node_modules\/valibot\/|\/contract\/[^/]*\.ts/ },
  {
    part: 'look-up',
    file: /\/api\/(?:reference-resolver|meaning-with-queued|purge-matcher)|stored-key-finder|\/db\/|\/contract\/identity\//,
  },
  { part: 'admission', file: /\/queue\/|\/api\/submit\/(?:admit-submission|candidate|ingress|submit)/ },
  { part: 'HTTP', file: /\/api\// },
]

/** Which part of the worker's work a frame belongs to. */
export const WORKER_RULES: readonly Rule[] = [
  ...SHARED,
  { part: 'settle', file: /\/queue\/settle|\/worker\/settle/ },
  { part: 'tags', file: /\/worker\/tags\// },
  { part: 'decide', file: /\/worker\/rows\/|\/contract\// },
  { part: 'write', file: /\/db\// },
  { part: 'fetch', file: /\/queue\// },
  { part: 'take turns', file: /\/worker\// },
]

export type Parts = ReadonlyMap<string, number>
/** A process: what all of it used, and how much of that its parts did, in microseconds. */
export type ProcessParts = {
  readonly name: string
  readonly total: number
  readonly parts: Parts
  readonly rest: string
}

/** Parts that take fewer microseconds a submission are told together. */
const SMALLEST_TOLD = 0.5

/** A table of processor time per submission by process and part, the largest first. */
export const describeParts = (
  processes: readonly ProcessParts[],
  { of, submissions }: { of: string; submissions: number },
): string => {
  const line = (name: string, microseconds: number): string =>
    `${name.padEnd(44)}${(microseconds / submissions).toFixed(1).padStart(8)} µs`
  const all = sumOf(processes.map(({ total }) => total))
  const lines = processes.flatMap(({ name, total, parts: given, rest }) => {
    // Redis and Postgres tell how long something took, which is more than what it used where processes wait for a processor.
    const fit = Math.min(1, total / sumOf(given.values()))
    const parts = [...given].map(([part, value]) => [part, value * fit] as const)
    const known = sumOf(parts.map(([, value]) => value))
    const isTold = (value: number): boolean => value >= SMALLEST_TOLD * submissions
    const small = parts.map(([, value]) => value).filter((value) => !isTold(value))
    const rows: [string, number][] = [
      ...parts.filter(([, value]) => isTold(value)).map(([part, value]): [string, number] => [part, value]),
      ...(small.length > 0 ? [[`${small.length} smaller parts`, sumOf(small)] as [string, number]] : []),
      [rest, total - known],
    ]
    rows.sort(([, one], [, other]) => other - one)
    return [line(name, total), ...rows.map(([part, value]) => line(`  ${part}`, value))]
  })
  return [
    `Processor time per submission by process and part, end to end, everything on, ${of}`,
    line('all', all),
    ...lines,
  ].join('\n')
}

const sumOf = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0)
