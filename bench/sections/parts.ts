import { type BodyKind, MESSAGES_PER_CONVERSATION } from '../bodies.ts'
import { type KindOfSubmission, PROCESSES } from '../figures/measures.ts'
import { makeWorkspaces } from '../installation/make-workspaces.ts'
import type { Service } from '../installation/service.ts'
import type { Numbers } from '../load/order.ts'
import { observeService } from '../observe.ts'
import {
  type CreateSection,
  loadOf,
  type LoadTarget,
  loadWith,
  newNumbers,
  type Rig,
  targetOf,
  untilAllFinished,
} from '../rig.ts'

/** More people than requests in a run, so that each body names a new person. */
const MANY_PEOPLE = 1_000_000_007
/** The people whom an unmeasured load has identified. */
const KNOWN_PEOPLE = 1_000

const FEEDBACK: Load = { path: '/feedbacks', kind: 'feedback' }
const CONTACT: Load = { path: '/contacts/identify', kind: 'contact' }
const NEW_CONTACT: Load = { path: '/contacts/identify', kind: 'new contact' }
const CONVERSATION: Load = { path: '/conversations', kind: 'new conversation', share: 1 / MESSAGES_PER_CONVERSATION }

type Load = { path: string; kind: BodyKind; people?: number; share?: number; workspaces?: true }
type Part = {
  readonly name: KindOfSubmission
  /** A load with the same numbers that is sent first and not measured. */
  readonly before?: Load
  readonly load: Load
}

const PARTS: readonly Part[] = [
  { name: 'feedback of new people', load: { ...FEEDBACK, people: MANY_PEOPLE } },
  {
    name: 'feedback of known people',
    before: { ...CONTACT, people: KNOWN_PEOPLE },
    load: { ...FEEDBACK, people: KNOWN_PEOPLE },
  },
  { name: 'identify, new', load: NEW_CONTACT },
  { name: 'identify, known', before: { ...CONTACT, people: KNOWN_PEOPLE }, load: { ...CONTACT, people: KNOWN_PEOPLE } },
  {
    name: 'identify that absorbs a known email',
    before: { path: '/feedbacks', kind: 'feedback of a person each' },
    load: NEW_CONTACT,
  },
  { name: 'conversation, new', load: CONVERSATION },
  { name: 'conversation, again', before: CONVERSATION, load: CONVERSATION },
  { name: 'feedback of many workspaces', load: { ...FEEDBACK, workspaces: true } },
]

/** The processor time per submission by kind and process, from the request to the row. */
export const parts: CreateSection = async (rig) => {
  const service = await rig.service('kinds')
  const tokens = await makeWorkspaces(service.sql, rig.config.workspaces)
  // A new process is slower until its code is compiled.
  for (const { load } of PARTS) await send(rig, { service, tokens, load, numbers: numbersFor(rig, load) })
  return {
    round: async () => {
      for (const part of PARTS) await measure(rig, { service, tokens, part })
    },
  }
}

const numbersFor = (rig: Rig, { share = 1 }: Load): Numbers => newNumbers(rig, Math.ceil(rig.config.ofKind * share))

type Sent = { service: Service; tokens: readonly string[]; load: Load; numbers: Numbers }

const send = async (rig: Rig, { service, tokens, load, numbers }: Sent): Promise<void> => {
  await loadWith(rig, targetFor({ service, tokens, load }), howOf(load, numbers, false))
  await untilAllFinished(rig, service)
}

const targetFor = ({ service, tokens, load }: Omit<Sent, 'numbers'>): LoadTarget => ({
  ...targetOf(service, load.path),
  ...(load.workspaces && { tokens }),
})

/**
 * Only measured loads have idempotency keys. Loads with the same numbers would have the same keys,
 * with different bodies.
 */
const howOf = ({ kind, people }: Load, numbers: Numbers, idempotencyKeys: boolean) =>
  loadOf(numbers, { kind, idempotencyKeys, ...(people !== undefined && { people }) })

const measure = async (
  rig: Rig,
  { service, tokens, part }: { service: Service; tokens: readonly string[]; part: Part },
): Promise<void> => {
  const { measures } = rig
  const { name, before, load } = part
  const numbers = numbersFor(rig, load)
  if (before) await send(rig, { service, tokens, load: before, numbers })
  const { perSecond, totalMicroseconds, microseconds } = await observeService(rig, service, {
    target: targetFor({ service, tokens, load }),
    how: howOf(load, numbers, true),
  })
  measures.add(`${name}: end to end`, perSecond)
  measures.add(`${name}: processor time`, totalMicroseconds)
  for (const process of PROCESSES) measures.add(`${name}: ${process}`, microseconds[process])
}
