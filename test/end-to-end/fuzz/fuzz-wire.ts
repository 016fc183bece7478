import * as fc from 'fast-check'
import type { Ending, Piece } from '../../support/raw-exchange.ts'
import { or } from './fuzz-headers.ts'
import { inChunks, LAST_CHUNK, type Message, type Odd, oddities, textOf } from './fuzz-oddities.ts'

/** The requests of one connection. */
export type Script = {
  readonly pieces: readonly Piece[]
  readonly ending: Ending | undefined
  /** The ids of its submissions, in their order. */
  readonly sourceIds: readonly string[]
  /** The number of valid submissions at the beginning. Each waits for the previous answer. */
  readonly sound: number
  /** The ids of submissions after the sound ones that are followed by bytes in a later packet. */
  readonly followed: ReadonlySet<string>
  /** The expected number of answers; undefined if a request is odd or the script cuts it off. */
  readonly answers: number | undefined
}

const MOST_BYTES = 10_000
const TAIL_BYTES = 12

/** The end of a packet, and the pause after it. `nearEnd` counts `at` from the end of the bytes. */
const packetEnd = fc.record({
  at: fc.noBias(fc.nat({ max: MOST_BYTES })),
  nearEnd: fc.boolean(),
  pauseMs: fc.constantFrom(0, 0, 0, 1, 2),
})
type PacketEnd = { readonly at: number; readonly nearEnd: boolean; readonly pauseMs: number }
const packetEnds = or(1, fc.constant<PacketEnd[]>([]), fc.array(packetEnd, { minLength: 1, maxLength: 5 }))

export const plans = fc
  .record({
    /** Valid requests, each after the previous answer. */
    sound: fc.array(fc.record({ chunked: fc.boolean(), packets: packetEnds }), { maxLength: 3 }),
    /** Valid requests, all at once. */
    pipelined: or(5, fc.constant(0), fc.integer({ min: 1, max: 10 })),
    odd: or(1, fc.array(oddities, { minLength: 1, maxLength: 2 }), fc.constant<Odd[]>([])),
    packets: packetEnds,
    /** How much of the pipelined and odd requests is sent before the client ends the connection. */
    cut: or(
      5,
      fc.constant(undefined),
      fc.record({ end: packetEnd, ending: fc.constantFrom<Ending>('half-close', 'reset') }),
    ),
  })
  .filter(({ sound, pipelined, odd }) => sound.length + pipelined + odd.length > 0)
export type Plan = typeof plans extends fc.Arbitrary<infer T> ? T : never

/** The plan as text, without its functions. */
export const planText = ({ odd, ...plan }: Plan): string =>
  JSON.stringify({ ...plan, odd: odd.map(({ what }) => what) })

/** The bytes of a plan. `nextId` gives an unused id. */
export const scriptOf = (plan: Plan, token: string, nextId: () => string): Script => {
  const sourceIds: string[] = []
  const message = (): Message => {
    const sourceId = nextId()
    sourceIds.push(sourceId)
    const body = JSON.stringify({ description: 'Sent as bytes', tags: [], source: 'wire', sourceId })
    const headers = ['Host: x', `Authorization: Bearer ${token}`, 'Content-Type: application/json']
    return { line: 'POST /api/v1/feedbacks HTTP/1.1', headers, framing: [`Content-Length: ${body.length}`], body }
  }
  const sound = plan.sound.flatMap(({ chunked, packets }, index): Piece[] => {
    const made = message()
    const text = textOf(chunked ? inChunks(made, LAST_CHUNK) : made)
    return [...packetsOf(text, packets).flatMap(asPieces), { answers: index + 1 }]
  })
  const texts = [
    ...Array.from({ length: plan.pipelined }, () => textOf(message())),
    ...plan.odd.map(({ toText }) => toText(message())),
  ]
  const whole = texts.join('')
  const packets = packetsOf(plan.cut ? whole.slice(0, placeOf(plan.cut.end, whole)) : whole, plan.packets)
  return {
    pieces: [...sound, ...packets.flatMap(asPieces)],
    ending: plan.cut?.ending,
    sourceIds,
    sound: plan.sound.length,
    followed: followedIn(texts, sourceIds.slice(plan.sound.length), packets),
    answers: plan.odd.length === 0 && plan.cut === undefined ? sourceIds.length : undefined,
  }
}

type Packet = { readonly from: number; readonly text: string; readonly pauseMs: number }

const placeOf = ({ at, nearEnd }: PacketEnd, text: string): number =>
  nearEnd ? Math.max(0, text.length - (at % TAIL_BYTES)) : at % (text.length + 1)

const packetsOf = (text: string, ends: readonly PacketEnd[]): Packet[] => {
  const places = [
    ...ends.map((end) => ({ to: placeOf(end, text), pauseMs: end.pauseMs })),
    { to: text.length, pauseMs: 0 },
  ].toSorted((one, other) => one.to - other.to)
  return places
    .map(({ to, pauseMs }, index) => {
      const from = places[index - 1]?.to ?? 0
      return { from, text: text.slice(from, to), pauseMs }
    })
    .filter((packet) => packet.text !== '')
}

const asPieces = ({ text, pauseMs }: Packet): Piece[] => [
  text,
  () => new Promise((resolve) => setTimeout(resolve, pauseMs)),
]

/**
 * The ids of submissions that bytes in a later packet follow. For Bun, a request in chunks ends at
 * the size of its last chunk.
 */
const followedIn = (
  texts: readonly string[],
  sourceIds: readonly string[],
  packets: readonly Packet[],
): ReadonlySet<string> => {
  const followed = new Set<string>()
  let start = 0
  for (const [index, sourceId] of sourceIds.entries()) {
    const text = texts[index]!
    const bodyEnd = text.indexOf('}', text.indexOf(sourceId)) + 1
    const isChunked = /^transfer-encoding:/im.test(text.slice(0, bodyEnd))
    const lastChunk = isChunked ? /^(?:\r\n)?0\r\n/.exec(text.slice(bodyEnd))?.[0] : undefined
    const end = start + bodyEnd + (lastChunk?.length ?? 0)
    if (packets.some(({ from }) => from >= end)) followed.add(sourceId)
    start += text.length
  }
  return followed
}
