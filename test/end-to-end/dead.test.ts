import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, beforeEach, describe, it } from 'node:test'
import type { Operation } from '../../contract/submission.ts'
import { feedbackBody, injectDead } from '../support/inject.ts'
import { outputOf, runCommand } from '../support/command.ts'
import { readLedger } from '../support/ledgers.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const PROGRAM = 'cli/dead/dead-command.ts'
const HOUR_MS = 60 * 60 * 1_000
const NUL_IN_TEXT = 'PostgresError 22P05'

describe('npm run dead', () => {
  beforeEach(() => dead('drop', 'all'))

  const dead = (...words: string[]) => runCommand(service, PROGRAM, ...words)
  const succeeds = (...words: string[]) => outputOf(service, PROGRAM, ...words)
  const stateOf = async (id: string): Promise<string | undefined> => {
    const [row] = await service.sql<{ state: string }[]>`select state from submission where id = ${id}`
    return row?.state
  }
  const untilApplied = (id: string): Promise<unknown> =>
    until(`${id} is applied`, async () => (await stateOf(id)) === 'applied')
  const untilExact = (): Promise<unknown> =>
    until('the ledger is exact with nothing queued', async () => {
      const { difference, queued } = await readLedger(service)
      return difference === 0 && queued === 0
    })
  const die = async (operation: Operation, body: object): Promise<string> => {
    const id = await injectDead(service, service.queues, { operation, body })
    await untilExact()
    return id
  }
  const feedback = (text: string) => die('create_feedback', feedbackBody(`${text} \u0000`))
  /** Simulates a new version of the service that can apply the dead submissions. */
  const mend = () => service.all`update dead_submission set submission = replace(submission, ${'\\u0000'}, 'mended')`

  it('refuses wrong calls, unknown ids and malformed values', async () => {
    for (const words of [['list', 'x'], ['drop', randomUUID(), '--reason', 'x'], ['what']]) {
      const { code, stderr } = await dead(...words)
      assert.deepEqual([code, stderr.startsWith('usage:')], [1, true], words.join(' '))
    }
    for (const words of ['show no-id', `show ${randomUUID()}`, `replay ${randomUUID()}`, 'list --since x'])
      assert.equal((await dead(...words.split(' '))).code, 1, words)
  })

  it('counts dead submissions by reason and lists them', async () => {
    const ids = [await feedback('one'), await feedback('two')]
    const contact = await die('identify_contact', { id: 'x', properties: { a: '\u0000' } })
    await service.all`update dead_submission set reason = 'Other', died_at = now() - interval '1 hour' where id = ${contact}`
    const all = await succeeds('list')
    assert.match(all, /^ +2 {2}PostgresError 22P05\n +1 {2}Other\n +3 {2}in all\n/)
    for (const id of [...ids, contact]) assert.ok(all.includes(id), id)
    assert.ok(!all.includes('one'), 'a list has no submitted content')
    for (const filter of ['--workspace stranger', '--operation submit_conversation', '--reason x'])
      assert.match(await succeeds('list', ...filter.split(' ')), /^ +0 {2}in all\n$/)
    for (const [name, value] of Object.entries({ reason: 'Other', operation: 'identify_contact' })) {
      const found = await succeeds('list', `--${name}`, value)
      assert.deepEqual([found.includes(contact), found.includes(ids[0]!)], [true, false], name)
    }
    const recent = await succeeds('list', '--since', new Date(Date.now() - HOUR_MS / 2).toISOString())
    assert.deepEqual([recent.includes(contact), recent.includes(ids[0]!)], [false, true])
  })

  it('replays or drops all submissions that a filter finds', async () => {
    const ids = [await feedback('many 1'), await feedback('many 2'), await feedback('many 3')]
    await mend()
    await service.all`update dead_submission set reason = 'Other' where id = ${ids[2]!}`
    assert.equal(await succeeds('replay', 'all', '--reason', NUL_IN_TEXT), '2 queued again\n')
    await Promise.all(ids.slice(0, 2).map(untilApplied))
    assert.equal(await stateOf(ids[2]!), 'dead')
    assert.equal(await succeeds('drop', 'all', '--reason', 'Other'), '1 dropped\n')
    await untilExact()
  })

  it('stores the newer of two dead versions of a record, in any order of the replays', async () => {
    const dieAs = (text: string, sourceId: string) =>
      die('create_feedback', { ...feedbackBody(`${text} \u0000`), sourceId })
    const [older, newer] = [await dieAs('older', 'reversed'), await dieAs('newer', 'reversed')]
    await dieAs('older', 'in order')
    await dieAs('newer', 'in order')
    await mend()
    for (const id of [newer, older]) assert.equal(await succeeds('replay', id), '1 queued again\n')
    assert.equal(await succeeds('replay', 'all'), '2 queued again\n')
    await untilExact()
    assert.deepEqual([await stateOf(older), await stateOf(newer)], ['superseded', 'applied'])
    const rows = await service.sql`select description from feedback where source_id in ('reversed', 'in order')`
    assert.deepEqual([...rows], [{ description: 'newer mended' }, { description: 'newer mended' }])
  })
})
