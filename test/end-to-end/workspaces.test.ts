import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { QueueName } from '../../contract/jobs.ts'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { beginDeletion } from '../../db/workspaces/delete-workspace.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { feedbackBody, injectDead } from '../support/inject.ts'
import { outputOf, runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { requestsTo } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

const COMMAND = 'cli/workspace-command.ts'
const VERIFY = 'cli/purge/verify-command.ts'
const QUEUES = ['wake', 'backlog', 'removal'] as const satisfies QueueName[]

describe('npm run workspace -- delete', () => {
  let service: SharedService
  before(async () => {
    const shared = await sharedService()
    // This `submit` can wait for submissions of any workspace.
    service = { ...shared, ...requestsTo(shared.urls, shared.accessToken, shared.all) }
  })
  after(() => service?.stop())

  const command = (...words: string[]) => runCommand(service, COMMAND, ...words)
  const succeed = (...words: string[]) => outputOf(service, COMMAND, ...words)
  const verify = (...words: string[]) => runCommand(service, VERIFY, ...words)
  const make = async (name: string): Promise<{ id: string; token: string }> => {
    const { id } = (await createWorkspace(service.all, name))!
    const token = makeToken()
    await addToken(service.all, { token, workspace: name, scopes: ['admin'], expiresAt: null })
    return { id, token }
  }
  const assertGone = async (id: string): Promise<void> => {
    assert.match(await outputOf(service, VERIFY, '--workspace', id), /^workspace: found nowhere$/m)
  }
  const countOf = (name: QueueName): Promise<number> => service.queues[name].count()
  const die = (workspaceId: string, text: string): Promise<string> =>
    injectDead({ ...service, workspaceId }, service.queues, { body: feedbackBody(`${text} \u0000`) })

  it('removes stored, waiting, dead and replayed submissions, and keeps those of another workspace', async () => {
    const { id, token } = await make('leaving')
    const text = 'Exporting a report takes ages'
    const feedback = { description: text, contact: { email: 'leaving@x.example' }, account: { name: 'Leaving Ltd' } }
    await service.submit('/feedbacks', feedback, { token })
    await service.submit('/contacts/identify', { id: 'left-1', properties: { $name: 'Ada' } }, { token })
    const stays = await service.submit('/feedbacks', { description: 'stays', contact: { email: 'stays@x.example' } })
    await die(id, text)
    const replayed = await die(id, text)
    await holdWork(service.queues)
    await outputOf(service, 'cli/dead/dead-command.ts', 'replay', replayed)
    for (let waiting = 0; waiting < 5; waiting++) {
      const headers = { 'Idempotency-Key': `key-${waiting}` }
      assert.equal((await service.post('/feedbacks', feedback, { token, headers })).status, 201)
    }
    const purging = service.post('/contacts/purge', { id: 'left-1' }, { token })

    const found = await verify('--workspace', id)
    assert.equal(found.code, 1)
    assert.match(found.stdout, /^workspace:\n(?: {2}\w+: \d+ rows?\n)+ {2}Redis: \d+\n/)
    const printed = await succeed('delete', 'leaving', '--yes')
    const [, total] = /^Deleting: (\d+)\/\1\b/m.exec(printed)!
    assert.match(printed, new RegExp(`^deleted leaving, with ${total} rows and \\d+ keys in Redis$`, 'm'))
    assert.match(printed, new RegExp(`purge:verify -- --workspace ${id}$`, 'm'))
    await assertGone(id)
    await purging
    await resumeWork(service.queues)
    await until('no job is left', async () => (await Promise.all(QUEUES.map(countOf))).every((count) => count === 0))
    await service.submit('/feedbacks', { description: 'after them' })
    await assertGone(id)
    assert.deepEqual(
      await findTraces({ ...service, sql: service.all }, [text, 'leaving@x.example', 'Leaving Ltd', 'left-1']),
      [],
    )
    assert.equal((await service.all`select from feedback where id = ${stays.body.feedback.id}`).count, 1)
    assert.ok((await findTraces({ ...service, sql: service.all }, ['stays@x.example'])).length > 0)
  })

  it('continues when it is run again; until then, the list shows the workspace, and its name is taken', async () => {
    const { id, token } = await make('half')
    await service.submit('/feedbacks', { description: 'x' }, { token })
    await beginDeletion(service.all, id)
    assert.match(await succeed('list'), /^\S+ {2}\S+ {2}half {2}\(being deleted: run delete again\)$/m)
    assert.match((await command('create', 'half')).stderr, /being deleted/)
    assert.equal((await verify('--workspace', id)).code, 1)
    await succeed('delete', 'half', '--yes')
    await assertGone(id)
    assert.equal((await command('delete', 'half', '--yes')).code, 1)
    await succeed('create', 'half')
    assert.match((await command('create', 'half')).stderr, /exists already/)
    assert.match(await succeed('list'), /\bdefault$[\s\S]*\bhalf$/m)
  })
})
