import assert from 'node:assert/strict'
import { residueOfWorkspace } from '../../cli/purge/residue-of-workspace.ts'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { runCommand } from './command.ts'
import { holdWork, resumeWork } from './hold-work.ts'
import type { Service } from './service.ts'

const SUBMISSIONS = 40

/**
 * Deletes a workspace with stored and waiting submissions by the command. Checks that no data is
 * left in Postgres or in any node of Redis.
 */
export const deleteOneOf = async (service: Service): Promise<void> => {
  const { id } = (await createWorkspace(service.sql, 'leaving'))!
  const token = makeToken()
  await addToken(service.sql, { token, workspace: 'leaving', scopes: ['submit'], expiresAt: null })
  const feedbackOf = (index: number) => ({ description: 'x', contact: { email: `c${index}@example.com` } })
  await service.submit('/feedbacks', feedbackOf(0), { token })
  await holdWork(service.queues)
  for (let index = 1; index <= SUBMISSIONS; index++) {
    const headers = { 'Idempotency-Key': `key-${index}` }
    assert.equal((await service.post('/feedbacks', feedbackOf(index), { token, headers })).status, 201)
  }
  const residue = () => residueOfWorkspace({ ...service, prefix: service.redisPrefix }, id)
  assert.ok((await residue()).keys >= 3, 'the log, its state and the idempotency keys')
  const { code, stderr } = await runCommand(service, 'cli/workspace-command.ts', 'delete', 'leaving', '--yes')
  assert.equal(code, 0, stderr)
  assert.deepEqual(await residue(), { rows: [], keys: 0 })
  await resumeWork(service.queues)
  await service.submit('/feedbacks', { description: 'of another' })
  assert.deepEqual(await residue(), { rows: [], keys: 0 })
}
