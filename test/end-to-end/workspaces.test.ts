import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { QueueName } from '../../contract/jobs.ts'
import { beginDeletion } from '../../db/workspaces/delete-workspace.ts'
import { feedbackBody, injectDead } from '../support/below-the-ingress.ts'
import { type CommandResult, runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { requestsTo } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

const COMMAND = 'cli/workspace-command.ts'
const QUEUES = ['wake', 'backlog', 'removal'] as const satisfies QueueName[]

describe('npm run workspace -- delete', () => {
  let service: SharedService
  before(async () => {
    const shared = await sharedService()
    // Submits to any workspace, and waits until the submission is finished.
    service = { ...shared, ...requestsTo(shared.urls, shared.accessToken, shared.all) }
  })
  after(() => service?.stop())

  const command = (...words: string[]): Promise<CommandResult> => runCommand(service, COMMAND, ...words)
  const verify = (...words: string[]) => runCommand(service, 'cli/purge/verify-command.ts', ...words)
  const succeed = async (running: Promise<CommandResult>): Promise<string> => {
    const { code, stdout, stderr } = await running
    assert.equal(code, 0, stderr)
    return stdout
  }
  const make = async (name: string): Promise<{ id: string; token: string }> => {
    const { workspaceId: id, adminToken: token } = await ownWorkspace({ sql: service.all, urls: service.urls }, name)
    return { id, token }
  }
  const isGone = async (id: string): Promise<void> => {
    const remains = (await verify('--text', id)).stdout.split('\n').filter((line) => /^ {2}\S/.test(line))
    // Finished jobs name the workspace for an hour. Its own keys have its id in braces.
    assert.deepEqual(
      remains.filter((line) => !line.startsWith('  Redis ') || line.includes('*}')),
      ['  deleted_workspace.id: 1 row'],
    )
  }
  const countOf = (name: QueueName): Promise<number> => service.queues[name].count()
  const die = (workspaceId: string, text: string): Promise<string> =>
    injectDead({ ...service, workspaceId }, service.queues, { body: feedbackBody(`${text} \u0000`) })

  it('removes stored, waiting, dead and replayed submissions, and leaves another workspace unchanged', async () => {
    const { id, token } = await make('leaving')
    const text = 'Exporting a report takes ages'
    const feedback = { description: text, contact: { email: 'leaving@x.example' }, account: { name: 'Leaving Ltd' } }
    await service.submit('/feedbacks', feedback, { token })
    await service.submit('/contacts/identify', { id: 'left-1', properties: { $name: 'Ada' } }, { token })
    const stays = await service.submit('/feedbacks', { description: 'stays', contact: { email: 'stays@x.example' } })
    await die(id, text)
    const replayed = await die(id, text)
    await holdWork(service.queues)
    await succeed(runCommand(service, 'cli/dead/dead-command.ts', 'replay', replayed))
    for (let waiting = 0; waiting < 5; waiting++) {
      const headers = { 'Idempotency-Key': `key-${waiting}` }
      assert.equal((await service.post('/feedbacks', feedback, { token, headers })).status, 201)
    }
    const purging = service.post('/contacts/purge', { id: 'left-1' }, { token })

    const printed = await succeed(command('delete', 'leaving', '--yes'))
    const [, total] = /^Deleting: (\d+)\/\1\b/m.exec(printed)!
    assert.match(printed, new RegExp(`^deleted leaving, with ${total} rows and \\d+ keys in Redis$`, 'm'))
    assert.match(printed, new RegExp(`purge:verify -- --text ${id}$`, 'm'))
    await isGone(id)
    await purging
    await resumeWork(service.queues)
    await until('no job is left', async () => (await Promise.all(QUEUES.map(countOf))).every((count) => count === 0))
    await service.submit('/feedbacks', { description: 'after them' })
    await isGone(id)
    assert.deepEqual(
      await findTraces({ ...service, sql: service.all }, [text, 'leaving@x.example', 'Leaving Ltd', 'left-1']),
      [],
    )
    assert.equal((await service.all`select from feedback where id = ${stays.body.feedback.id}`).count, 1)
    assert.equal((await findTraces({ ...service, sql: service.all }, ['stays@x.example'])).length > 0, true)
  })

  it('continues when it is run again after a kill; until then the list shows it, and the name is taken', async () => {
    const { id, token } = await make('half')
    for (let stored = 0; stored < 3; stored++) await service.submit('/feedbacks', { description: 'x' }, { token })
    // A killed command has committed only this.
    await beginDeletion(service.all, id)
    assert.match(await succeed(command('list')), /^\S+ {2}\S+ {2}half {2}\(being deleted: run delete again\)$/m)
    assert.match((await command('create', 'half')).stderr, /being deleted/)
    const more = await runCommand(service, 'cli/token-command.ts', 'create', '--workspace', 'half', '--scope', 'submit')
    assert.equal(more.code, 1)
    assert.match((await verify('--text', id)).stdout, /^ {2}workspace\.id: 1 row$/m)
    await succeed(command('delete', 'half', '--yes'))
    await isGone(id)
    assert.equal((await command('delete', 'half', '--yes')).code, 1)
    await succeed(command('create', 'half'))
  })
})
