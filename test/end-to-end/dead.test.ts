import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { admissionKeys } from '../../queue/keys.ts'
import { JOB_VERSION, type Operation } from '../../contract/job.ts'
import type { Ledger } from '../../contract/ledger.ts'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { readLedgers } from '../support/ledgers.ts'
import type { ReplayStores } from '../../cli/dead/replay.ts'
import { markReplayed } from '../../db/submissions/dead.ts'
import { batchIdOf } from '../../queue/batch.ts'
import { booksIn } from '../../queue/books.ts'
import { handingOverIn } from '../../queue/hand-over.ts'
import { finishReplays } from '../../worker/upkeep/finish-replays.ts'
import { handOver } from '../../worker/upkeep/upkeep.ts'
import { feedbackBody, inject } from '../support/below-the-ingress.ts'
import type { JobQueues } from '../../queue/job-queues.ts'
import { type CommandResult, runCommand } from '../support/command.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 60 * 60 * 1_000
const NUL_IN_TEXT = 'PostgresError 22P05'

describe('npm run dead', () => {
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(() => service.stop())
  beforeEach(async () => {
    await dead('drop', 'all')
    for (const queue of Object.values(service.queues)) await queue.resume()
  })

  const dead = (...words: string[]): Promise<CommandResult> => runCommand(service, 'cli/dead/dead-command.ts', ...words)
  const succeeds = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await dead(...words)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const storesOf = ({
    environment,
    redisPrefix: prefix,
    ...stores
  }: Service): ReplayStores & { queues: JobQueues } => ({
    ...stores,
    prefix,
    hashKey: hashKeyFrom(environment['HASH_KEY']!),
  })
  const stateOf = async (id: string): Promise<string | undefined> => {
    const [row] = await service.sql<{ state: string }[]>`select state from submission where id = ${id}`
    return row?.state
  }
  const reaches = (id: string, state: string): Promise<unknown> =>
    until(`${id} is ${state}`, async () => (await stateOf(id)) === state)
  const isExact = (queued = 0): Promise<unknown> =>
    until(`the ledger is exact with ${queued} queued`, async () => {
      const now = await ledger()
      return now.difference === 0 && now.queued === queued
    })
  const ledger = async (): Promise<Ledger> => {
    const [found] = await readLedgers(service.sql, service.redis, service.redisPrefix)
    return found!
  }
  const payloads = async (): Promise<number> =>
    (await service.sql`select from dead_submission where workspace_id = ${service.workspaceId}`).count

  const die = async (operation: Operation, body: object): Promise<string> => {
    const { submissionId } = await inject(service, service.queues, { operation, body })
    await reaches(submissionId, 'dead')
    await isExact()
    return submissionId
  }
  const feedback = (text: string, more: object = {}) => die('create_feedback', feedbackBody(`${text} \u0000`, more))
  /** As if a new version could store it. */
  const mend = () => service.sql`update dead_submission set job = replace(job, ${'\\u0000'}, 'mended')`

  it('tells how it is used', async () => {
    assert.match(await succeeds('--help'), /^usage: npm run dead/)
    for (const words of [[], ['list', 'x'], ['show'], ['replay'], ['drop', randomUUID(), '--reason', 'x'], ['what']]) {
      const { code, stderr } = await dead(...words)
      assert.deepEqual([code, stderr.startsWith('usage:')], [1, true], words.join(' '))
    }
    for (const words of [
      ['show', 'no-id'],
      ['show', randomUUID()],
      ['replay', randomUUID()],
      ['list', '--since', 'x'],
    ]) {
      assert.equal((await dead(...words)).code, 1, words.join(' '))
    }
  })

  it('lists how many there are for each reason, and which', async () => {
    const ids = [await feedback('one'), await feedback('two')]
    const contact = await die('identify_contact', { id: 'x', properties: { a: '\u0000' } })
    await service.sql`update dead_submission set reason = 'Other', died_at = now() - interval '1 hour' where id = ${contact}`
    const all = await succeeds('list')
    assert.match(all, /^ +2 {2}PostgresError 22P05\n +1 {2}Other\n +3 {2}in all\n/)
    for (const id of [...ids, contact]) assert.ok(all.includes(id), id)
    assert.ok(!all.includes('one'), 'a list holds nothing that was submitted')
    const none = [
      ['--workspace', 'nobody'],
      ['--operation', 'submit_conversation'],
      ['--reason', 'x'],
    ]
    for (const filter of none) assert.match(await succeeds('list', ...filter), /^ +0 {2}in all\n$/)
    const of = { reason: 'Other', operation: 'identify_contact' }
    for (const [name, value] of Object.entries(of)) {
      const found = await succeeds('list', `--${name}`, value)
      assert.deepEqual([found.includes(contact), found.includes(ids[0]!)], [true, false], name)
    }
    const recent = await succeeds('list', '--since', new Date(Date.now() - HOUR_MS / 2).toISOString())
    assert.deepEqual([recent.includes(contact), recent.includes(ids[0]!)], [false, true])
  })

  it('shows one with all that was submitted', async () => {
    const id = await feedback('shown', { sourceId: 'S-1' })
    const shown = JSON.parse(await succeeds('show', id))
    assert.deepEqual([shown.id, shown.reason, shown.operation], [id, NUL_IN_TEXT, 'create_feedback'])
    assert.equal(shown.job.body.description, 'shown \u0000')
  })

  it('replays one under its id and number, and what was submitted goes only when it is stored', async () => {
    const id = await feedback('replayed')
    const [former] = await service.sql`select acceptance_number from submission where id = ${id}`
    assert.equal(await succeeds('replay', id), '1 queued again\n')
    await until('it is dead again', async () => {
      const [row] = await service.sql`select from dead_submission where id = ${id} and replayed_at is null`
      return row !== undefined && (await stateOf(id)) === 'dead'
    })
    await isExact()
    await mend()
    assert.equal(await succeeds('replay', id), '1 queued again\n')
    await reaches(id, 'applied')
    await isExact()
    const [stored] = await service.sql`select acceptance_number, error from submission where id = ${id}`
    assert.deepEqual([stored!['acceptance_number'], stored!['error']], [former!['acceptance_number'], null])
    assert.equal(await payloads(), 0)
    assert.equal((await dead('replay', id)).code, 1)
  })

  it('is on the books while it is queued, and replayed twice it is stored once', async () => {
    const email = `${randomUUID()}@example.com`
    const id = await feedback('twice', { contact: { email } })
    await mend()
    await service.queues.submissions.pause()
    assert.equal(await succeeds('replay', id), '1 queued again\n')
    assert.equal(await succeeds('replay', id), '1 queued again\n')
    assert.match(await succeeds('list'), /queued again \d{4}-/)
    assert.equal((await dead('drop', id)).code, 1, 'it is queued')
    await isExact(1)
    const receipt = await service.request(`/api/v1/submissions/${id}`, undefined, { method: 'GET' })
    assert.deepEqual([receipt.body.submission.state, receipt.body.submission.finishedAt], ['queued', null])
    await service.queues.submissions.resume()
    await reaches(id, 'applied')
    await isExact()
    const stored = await service.sql`select from feedback where description = 'twice mended'`
    assert.equal(stored.count, 1)
    await purgeFindsNothing(email, false)
  })

  const purgeFindsNothing = async (email: string, expected: boolean): Promise<void> => {
    const answer = await service.post('/contacts/purge', { email }, { token: service.adminToken })
    assert.equal(answer.status, expected ? 404 : 200, answer.text)
    if (!expected) assert.equal(await service.settled(answer), 'applied')
  }

  it('replays all that a filter finds', async () => {
    const ids = [await feedback('many 1'), await feedback('many 2'), await feedback('many 3')]
    await mend()
    await service.sql`update dead_submission set reason = 'Other' where id = ${ids[2]!}`
    assert.equal(await succeeds('replay', 'all', '--reason', NUL_IN_TEXT), '2 queued again\n')
    await Promise.all(ids.slice(0, 2).map((id) => reaches(id, 'applied')))
    assert.equal(await stateOf(ids[2]!), 'dead')
    assert.equal(await succeeds('drop', 'all', '--reason', 'Other'), '1 dropped\n')
    await isExact()
  })

  it('takes its former place: what was accepted later stands', async () => {
    const record = { source: 'desk', sourceId: randomUUID() }
    const id = await feedback('earlier', record)
    await service.submit('/feedbacks', { description: 'later', ...record })
    await mend()
    await succeeds('replay', id)
    await reaches(id, 'superseded')
    const [row] = await service.sql`select description from feedback where source_id = ${record.sourceId}`
    assert.equal(row!['description'], 'later')
    assert.equal(await payloads(), 0)
  })

  it('brings nothing back that was purged: the purge has removed it, or fences refuse it', async () => {
    const [removed, refused] = [`${randomUUID()}@example.com`, `${randomUUID()}@example.com`]
    const gone = await feedback('gone', { contact: { email: removed } })
    await purgeFindsNothing(removed, false)
    assert.equal(await stateOf(gone), 'purged')
    assert.equal((await dead('replay', gone)).code, 1)
    const late = await feedback('late', { contact: { email: refused } })
    await mend()
    const [held] = await service.sql`select * from dead_submission where id = ${late}`
    await service.submit('/contacts/identify', { id: randomUUID(), properties: { $email: refused } })
    await purgeFindsNothing(refused, false)
    // As if the purge had not come to it.
    await service.sql`insert into dead_submission ${service.sql(held!)}`
    await service.sql`update submission set state = 'dead' where id = ${late}`
    await succeeds('replay', late)
    await reaches(late, 'purged')
    assert.equal(await payloads(), 0)
    await isExact()
    const stored = await service.sql`select from feedback where description = 'late mended'`
    assert.equal(stored.count, 0)
  })

  it('drops what was submitted, and the receipt stays dead', async () => {
    const id = await feedback('dropped')
    assert.equal(await succeeds('drop', id), '1 dropped\n')
    assert.equal(await stateOf(id), 'dead')
    assert.equal(await payloads(), 0)
    assert.equal((await dead('drop', id)).code, 1)
    await isExact()
  })

  it('a replay whose process died before the submission was on the books is put there by the upkeep, once', async () => {
    const id = await feedback('lost', { contact: { name: 'Ada' } })
    await mend()
    await service.queues.submissions.pause()
    const { sql, redis, redisPrefix: prefix, workspaceId, queues } = service
    const stores = storesOf(service)
    const { outcome } = await markReplayed(sql, workspaceId, id)
    assert.equal(outcome, 'queued')
    const { exists, outbox, carriers } = admissionKeys(prefix, workspaceId)
    await finishReplays(stores, HOUR_MS)
    assert.equal((await ledger()).queued, 0, 'too early to tell')
    for (let time = 0; time < 3; time++) await finishReplays(stores, 0)
    await isExact(1)
    assert.ok((await redis.hkeys(exists)).length > 0, 'others find what it says')
    const receipt = await service.request(`/api/v1/submissions/${id}`, undefined, { method: 'GET' })
    assert.equal(receipt.body.submission.state, 'queued')
    await until('a worker hands it over', async () => (await redis.zscore(outbox, id)) === null)
    assert.notEqual(await redis.hget(carriers, id), null)
    const left = await handOver({ ...stores, handOver: handingOverIn({ redis, prefix, queues }) })
    assert.equal(left, 0)
    await queues.submissions.resume()
    await reaches(id, 'applied')
    await isExact()
    await finishReplays(stores, 0)
    await isExact()
    assert.equal((await sql`select from feedback where description = 'lost mended'`).count, 1)
    assert.deepEqual(await redis.hkeys(exists), [])
  })

  it('whose request comes again is answered as before, also while a replay is on its way', async () => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const ask = () => service.post('/feedbacks', { description: 'asked again' }, { headers })
    const { redis, redisPrefix, workspaceId } = service
    await service.queues.submissions.pause()
    const first = await ask()
    const isAnsweredAsBefore = async (): Promise<void> => {
      const again = await ask()
      assert.deepEqual([again.status, again.headers.get('Submission-Id')], [201, id], again.text)
      assert.deepEqual(again.body, first.body)
    }
    assert.equal(first.status, 201, first.text)
    const id = first.headers.get('Submission-Id')!
    const name = admissionKeys(redisPrefix, workspaceId).batch(batchIdOf(id))
    const batch = await redis.get(name)
    await redis.set(name, batch!.replace('asked again', 'asked again \\u0000'))
    await service.queues.submissions.resume()
    await reaches(id, 'dead')
    await isExact()
    await isAnsweredAsBefore()
    await service.queues.submissions.pause()
    assert.equal(await succeeds('replay', id), '1 queued again\n')
    await isAnsweredAsBefore()
    assert.notEqual(await booksIn(redis, redisPrefix).read({ workspaceId, batchId: id }), undefined)
    await service.queues.submissions.resume()
    await until('it is dead again', async () => {
      const [row] = await service.sql`select from dead_submission where id = ${id} and replayed_at is null`
      return row !== undefined
    })
    await isExact()
    await isAnsweredAsBefore()
  })

  it('a purge that lost its place is not replayed: it would take away what was accepted since', async () => {
    const id = randomUUID()
    const job = { version: JOB_VERSION, operation: 'purge_contact', workspaceId: service.workspaceId, submissionId: id }
    await service.sql`
      select set_aside(${service.workspaceId}, ${service.sql.json({ id, number: 1, operation: 'purge_contact', attempts: 8, reason: 'x', keys: [] })},
        ${JSON.stringify({ ...job, number: 1, body: { id: 'somebody' } })})`
    const { code, stdout } = await dead('replay', id)
    assert.deepEqual([code, stdout.startsWith('1 purges')], [1, true])
    assert.equal(await stateOf(id), 'dead')
  })
})
