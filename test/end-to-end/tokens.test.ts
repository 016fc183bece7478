import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type CommandResult, runCommand } from '../support/command.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/

describe('the commands for workspaces and tokens', () => {
  const workspaces = (...words: string[]): Promise<CommandResult> =>
    runCommand(service, 'cli/workspace-command.ts', ...words)
  const tokens = (...words: string[]): Promise<CommandResult> => runCommand(service, 'cli/token-command.ts', ...words)
  const succeed = async (running: Promise<CommandResult>): Promise<CommandResult> => {
    const result = await running
    assert.equal(result.code, 0, result.stderr)
    return result
  }
  const makeToken = async (...words: string[]): Promise<{ id: string; token: string }> => {
    const { stdout, stderr } = await succeed(tokens('create', ...words))
    return { id: UUID.exec(stderr)![0], token: stdout.trim() }
  }
  const give = (token: string, api = 0): Promise<Answer> =>
    service.post('/feedbacks', { description: 'x' }, { token, api })

  it('create a token that submits into its workspace, and store only its hash', async () => {
    await succeed(workspaces('create', 'submitting'))
    const note = ['--note', 'the shop']
    const { id, token } = await makeToken('--workspace', 'submitting', '--scope', 'submit', ...note)
    const line = async (): Promise<string | undefined> => {
      const { stdout } = await succeed(tokens('list'))
      return stdout.split('\n').find((each) => each.startsWith(id))
    }
    assert.equal(await line(), `${id}  submitting  submit  no expiry  not used yet  the shop`)
    assert.match(token, /^fbi_\S{30,}$/)
    const { status, body } = await give(token)
    assert.equal(status, 201)
    const workspace = await until('the feedback is stored', async () => {
      const [stored] = await service.all<{ name: string }[]>`
        select w.name from feedback as f join workspace as w on w.id = f.workspace_id where f.id = ${body.feedback.id}`
      return stored?.name
    })
    assert.equal(workspace, 'submitting')
    await until('the day of its last use is listed', async () => {
      const listed = await line()
      assert.ok(!listed?.includes(token))
      return /  used \d{4}-\d\d-\d\d  the shop$/.test(listed ?? '')
    })
    const [row] = await service.all`
      select count(*)::int as kept from token as t where strpos(to_jsonb(t)::text, ${token}) > 0`
    assert.equal(row?.['kept'], 0)
  })

  it('revoke a token, so that every API process refuses it', async () => {
    const { id, token } = await makeToken('--workspace', 'default', '--scope', 'submit')
    const kept = await makeToken('--workspace', 'default', '--scope', 'submit')
    for (const api of [0, 1]) assert.equal((await give(token, api)).status, 201)
    await succeed(tokens('revoke', id))
    const refused = async (api: number): Promise<boolean> => (await give(token, api)).status === 401
    await until('both processes refuse the token', async () => (await refused(0)) && (await refused(1)))
    assert.equal((await give(kept.token)).status, 201)
    assert.match((await succeed(tokens('list'))).stdout, new RegExp(`^${id}  default  submit  revoked `, 'm'))
    assert.equal((await tokens('revoke', id)).code, 1)
  })

  it('refuse unknown options and values', async () => {
    for (const command of [workspaces, tokens]) {
      for (const words of [[], ['create', '--nonsense'], ['delete', 'x']]) {
        const { code, stderr } = await command(...words)
        assert.equal(code, 1, words.join(' '))
        assert.notEqual(stderr, '')
        assert.doesNotMatch(stderr, /^\s+at /m)
      }
    }
    const unknown = await tokens('create', '--workspace', 'nowhere', '--scope', 'submit')
    assert.equal(unknown.code, 1)
    assert.equal(unknown.stdout, '')
  })
})
