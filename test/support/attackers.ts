import assert from 'node:assert/strict'
import { runCommand } from './command.ts'
import { ownWorkspace } from './own-workspace.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** Ordinary feedback, all of one email. */
export const ONE_EMAIL = 'feedback of one email'

/** An attacker sends one kind of request to one workspace, until the first bound is reached. */
export type AttackOrder = {
  url: string
  token: string
  /** The title of a dear intake or of dearest submissions, or `ONE_EMAIL`. */
  attack: string
  connections: number
  seconds: number
  /** The attacker stops after this many accepted requests, or this many bytes of their bodies. */
  most: number
  mostBytes: number
}
export type AttackReport = { accepted: number; bytes: number; refused: Record<string, number> }

export type Bounds = Omit<AttackOrder, 'url' | 'token' | 'attack'>
export type Attackers = {
  workspaceIds: readonly string[]
  /** Makes all attackers send, each within these bounds. */
  send: (bounds: Bounds) => Promise<AttackReport[]>
}

/** Makes a workspace for each attacker. Each `send` starts a process for each of them. */
export const makeAttackers = async (
  { sql, urls }: Pick<Service, 'sql' | 'urls'>,
  attacks: readonly string[],
): Promise<Attackers> => {
  const made = await Promise.all(attacks.map(() => ownWorkspace({ sql, urls })))
  return {
    workspaceIds: made.map(({ workspaceId }) => workspaceId),
    send: (bounds) =>
      Promise.all(
        made.map(({ accessToken: token }, index) =>
          runAttack({ url: urls[0]!, token, attack: attacks[index]!, ...bounds }),
        ),
      ),
  }
}

const runAttack = async (order: AttackOrder): Promise<AttackReport> => {
  const { code, stdout, stderr } = await runCommand(
    { environment: {} },
    'test/support/attack-main.ts',
    JSON.stringify(order),
  )
  assert.equal(code, 0, stdout + stderr)
  return JSON.parse(stdout) as AttackReport
}

type Bystander = {
  /** The number of submissions that were applied at the first attempt. */
  readonly served: () => number
  /** The outcomes of submissions that were not accepted, or not applied at the first attempt. */
  readonly failed: readonly string[]
  /** Stops sending. Resolves after the outcome of the last submission. */
  readonly stop: () => Promise<void>
}

const PEOPLE = 20

/** A client that sends feedback one by one. It waits until each is settled. */
export const startBystander = ({ post, sql }: Pick<Service, 'post' | 'sql'>): Bystander => {
  const stopped = new AbortController()
  const failed: string[] = []
  let served = 0
  const submitOne = async (): Promise<void> => {
    const contact = { email: `bystander-${served % PEOPLE}@example.com` }
    const answer = await post('/feedbacks', { description: 'Nothing to do with it', tags: [], contact })
    if (answer.status !== 201) return void failed.push(`answered ${answer.status} ${answer.text}`)
    const findReceipt = async () => {
      const [row] = await sql<{ state: string; attempts: number }[]>`
        select state, attempts from submission
        where id = ${answer.headers.get('Submission-Id')} and state <> 'queued'`
      return row
    }
    const { state, attempts } = await until('the receipt of a bystander', findReceipt)
    if (state === 'applied' && attempts === 1) served++
    else failed.push(`${state} at attempt ${attempts}`)
  }
  const sending = (async () => {
    while (!stopped.signal.aborted) await submitOne().catch((error: unknown) => failed.push(String(error)))
  })()
  return {
    served: () => served,
    failed,
    stop: async () => {
      stopped.abort()
      await sending
    },
  }
}
