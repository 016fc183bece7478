import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startMessage } from '../../cli/start/start-message.ts'
import { givenSettings, readLauncherConfig } from '../../cli/start/launcher-config.ts'
import { type CommandResult, runCommand } from '../support/command.ts'
import { serveHttp } from '../support/http-server.ts'
import { idleService, type SharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const MISSPELT = { CONVERSATION_PER_MINUTE: '100' }

describe('a setting with a wrong name', () => {
  const folder = temporaryDirectory()
  let service: SharedService
  let occupied: Awaited<ReturnType<typeof serveHttp>>
  before(async () => {
    service = await idleService()
    occupied = await serveHttp(() => {})
  })
  after(async () => {
    occupied?.stop()
    await service?.stop()
  })

  /** Each program names the setting, and then ends, since its port is taken. */
  const run = (program: string): Promise<CommandResult> => {
    const port = new URL(occupied.url).port
    const given = { ...MISSPELT, PORT: port, WORKER_PORT: port, DATA_DIR: join(folder, 'data') }
    return runCommand({ environment: { ...service.environment, ...given } }, program)
  }

  it('is named by npm start, before anything else', async () => {
    const { stderr } = await run('cli/start/start.ts')
    assert.equal(
      stderr.split('\n')[0],
      'CONVERSATION_PER_MINUTE is not a setting, and is ignored. Did you mean CONVERSATIONS_PER_MINUTE?',
    )
  })

  for (const program of ['api/main.ts', 'worker/main.ts'])
    it(`is named in the log of ${program}`, async () => {
      const { stdout } = await run(program)
      const lines = stdout.split('\n').filter((line) => line.includes('"setting_unknown"'))
      assert.equal(lines.length, 1, stdout)
      const { given, meant } = JSON.parse(lines[0]!) as Record<string, unknown>
      assert.deepEqual([given, meant], ['CONVERSATION_PER_MINUTE', 'CONVERSATIONS_PER_MINUTE'])
    })
})

describe('the message of npm start', () => {
  const messageOf = (environment: Record<string, string>): string =>
    startMessage({
      config: readLauncherConfig(environment),
      given: givenSettings(environment),
      urls: { databaseUrl: 'postgres://h/d', redisUrl: 'redis://h' },
      tokens: { BOOTSTRAP_ACCESS_TOKEN: 'a', BOOTSTRAP_ADMIN_TOKEN: 'b' },
      port: 1,
    })

  it('has the names of the settings from the environment, and no values', () => {
    const message = messageOf({ LOG_LEVEL: 'warn', HASH_KEY: '5a'.repeat(32), HOME: '/root', PORT: '' })
    assert.match(message, /^ {2}Environment {4}HASH_KEY, LOG_LEVEL$/m)
    assert.doesNotMatch(message, /5a5a/)
    assert.match(messageOf({}), /^ {2}Environment {4}no setting$/m)
  })
})
