import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Webhook as Signer } from 'standardwebhooks'
import { outputOf } from '../support/command.ts'
import { recordsOf } from '../support/feed-followers.ts'
import { ownMembers } from '../support/stored-records.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'
import { installRecipes, spawnRecipe, startReceiver } from './running-recipe.ts'

const ODD = 'says "hello",\r\nand =1+1 — Größe'
type Kept = { position: number; kind: string; id: string; deleted: boolean; record?: object }

describe('the recipes that read', () => {
  const directory = temporaryDirectory()
  let service: SharedService
  before(async () => {
    service = await sharedService()
    await installRecipes(directory)
  })
  after(() => service?.stop())

  const say = async (description: string, email?: string): Promise<string> => {
    const body = { description, tags: ['a', 'b,c'], ...(email && { contact: { email } }) }
    return String((await service.submit('/feedbacks', body)).body.feedback.id)
  }
  const purge = async (email: string): Promise<void> => {
    await service.submit('/contacts/purge', { email }, { token: service.adminToken })
  }

  for (const runtime of ['Bun', 'Deno'] as const) {
    it(`follow-changes.ts on ${runtime} keeps a CSV of the feedback, over restarts, purges and an expired position`, async () => {
      const file = join(directory, `${runtime}.csv`)
      const environment = { FEEDBACK_URL: service.urls[0]!, READ_TOKEN: service.readToken, CSV_FILE: file }
      const during = async (work: () => Promise<unknown>): Promise<void> => {
        const child = spawnRecipe('follow-changes.ts', { directory, runtime, environment })
        child.stdout!.resume()
        try {
          await work()
        } finally {
          const ended = once(child, 'exit')
          child.kill('SIGKILL')
          await ended
        }
      }
      const idsIn = (text: string): string[] =>
        [...text.matchAll(/^"([\da-f-]{36})"/gm)].map(([, id]) => id!).toSorted()
      const untilUpToDate = () =>
        until('the file has the stored records', async () => {
          const rows = await service.all<{ id: string }[]>`
            select id from feedback where workspace_id = ${service.workspaceId} order by id`
          const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
          return (
            text !== '' &&
            isDeepStrictEqual(
              idsIn(text),
              rows.map(({ id }) => id),
            )
          )
        })
      const email = `csv-${runtime}@example.org`
      const odd = await say(ODD)
      const gone = await say('to be purged', email)
      await during(untilUpToDate)
      const row = `"${odd}","[^"]+","API","","","","\\[""a"",""b,c""\\]","","${ODD.replaceAll('"', '""').replaceAll(/[+]/g, '\\+')}"\n`
      assert.match(readFileSync(file, 'utf8'), new RegExp(row))
      await say('while it is away')
      await purge(email)
      await during(untilUpToDate)
      assert.ok(!idsIn(readFileSync(file, 'utf8')).includes(gone))
      // Tombstones after this position have expired.
      writeFileSync(`${file}.next`, '1')
      await service.all`
        update workspace_progress set forgotten_position = 2 where workspace_id = ${service.workspaceId}`
      // Only a start from the beginning corrects this id.
      writeFileSync(file, readFileSync(file, 'utf8').replaceAll(odd, gone))
      await during(untilUpToDate)
    })
  }

  it('webhook-receiver.ts keeps the latest change of each record, and accepts signatures of both secrets', async () => {
    const records = join(directory, 'records')
    const command = async (...words: string[]): Promise<string[]> =>
      (await outputOf(service, 'cli/webhook-command.ts', ...words)).split('\n')
    const where = ['--workspace', service.workspace, '--url']
    // The port is known later.
    const [first, secret] = await command('create', ...where, 'http://127.0.0.1:1/', '--from', '0')
    const id = first!.split(' ')[1]!
    await command('pause', id)
    const [, next] = await command('rotate', id)
    const environment = { WEBHOOK_SECRET: next!, WEBHOOK_SECRET_BEFORE: secret!, RECORDS: records }
    await using receiver = await startReceiver('webhook-receiver.ts', { directory, runtime: 'Bun', environment })
    try {
      await service.all`update webhook set url = ${receiver.url} where id = ${id}`
      await command('resume', id)
      const email = 'kept@example.org'
      const own = await say('kept', email)
      await purge(email)
      const kept = (): Kept[] =>
        readdirSync(records)
          .filter((name) => name.endsWith('.json'))
          .map((name) => JSON.parse(readFileSync(join(records, name), 'utf8')) as Kept)
      const present = () =>
        kept().flatMap(({ kind, id: each, record }) =>
          record ? [[`${kind} ${each}`, ownMembers(kind, record)] as const] : [],
        )
      const sorted = (copy: Iterable<readonly [string, object]>) => [...copy].toSorted(([a], [b]) => (a < b ? -1 : 1))
      const tombstone = await until('the tombstone is kept', async () =>
        kept().find((change) => change.id === own && change.deleted),
      )
      await until('the files have the stored records', async () =>
        isDeepStrictEqual(sorted(present()), sorted(await recordsOf(service.all, service.workspaceId))),
      )

      const post = async (signer: Signer, message: object, agoMs = 0): Promise<number> => {
        const [text, at] = [JSON.stringify(message), new Date(Date.now() - agoMs)]
        const headers = {
          'webhook-id': 'made',
          'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
          'webhook-signature': `v1,AAAA ${signer.sign('made', at, text)}`,
        }
        return (await fetch(receiver.url, { method: 'POST', headers, body: text })).status
      }
      const older = { type: 'feedback.changed', data: { ...tombstone, position: 1, deleted: false, record: {} } }
      for (const each of [secret!, next!]) assert.equal(await post(new Signer(each), older), 204)
      assert.deepEqual(
        kept().find((change) => change.id === own),
        tombstone,
        'an older change has no effect',
      )
      assert.equal(await post(new Signer(Buffer.from('another').toString('base64')), older), 401)
      assert.equal(await post(new Signer(next!), older, 600_000), 401)
      assert.equal((await fetch(receiver.url, { method: 'POST', body: '{}' })).status, 401)
      assert.match((await command('test', id)).join(), /confirmed/)
    } finally {
      await command('delete', id)
      rmSync(records, { recursive: true })
    }
  })
})
