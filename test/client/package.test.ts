import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../support/command.ts'
import { type Service, startService } from '../support/service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { describeWhere, itWhere, missingProgram } from '../support/where.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const programs = join(root, 'node_modules', '.bin')

/** A strict configuration without the types of a runtime. */
const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    lib: ['es2022'],
    target: 'es2022',
    module: 'nodenext',
    types: [],
    noUnusedLocals: true,
  },
  files: ['program.ts'],
}

/**
 * Each line that must not compile has `@ts-expect-error`, which is an error if the line compiles.
 */
const PROGRAM = `
import { type BatchItem, createClient, type FeedbackSubmission, type Problem, RequestError } from 'feedback-insights-client'

declare const process: { argv: string[] }
declare const console: { log: (text: string) => void }
const [, , url = '', token = '', source = ''] = process.argv
const client = createClient({ url, token, strict: true })

const body: FeedbackSubmission = { description: 'It runs', source, sourceId: '1', title: undefined, tags: ['a'] as const }
const { feedback, submissionId, state } = await client.createFeedback(body, { waitSeconds: 20 })
const items: BatchItem[] = [{ operation: 'identify_contact', body: { id: source, properties: { $name: 'Ada', plan: 1 } } }]
const [result] = await client.submitBatch(items, { waitSeconds: 20 })
const receipt = await client.getSubmission(submissionId)
try {
  await client.purgeContact({ id: 'stranger', email: 'stranger@x.example' })
} catch (error) {
  if (!(error instanceof RequestError)) throw error
  const problems: readonly Problem[] = error.problems
  console.log(JSON.stringify([feedback.sourceId, state, result?.state, receipt.state, error.status, problems]))
}

export const mistakes = async (): Promise<unknown> => {
  // @ts-expect-error Required.
  await client.createFeedback({})
  // @ts-expect-error Misspelt.
  await client.createFeedback({ description: 'x', descripton: 'x' })
  // @ts-expect-error Misspelt further down.
  await client.createFeedback({ description: 'x', contact: { mail: 'x' } })
  // @ts-expect-error Not a text.
  await client.identifyContact({ id: 42 })
  // @ts-expect-error Not a text.
  await client.identifyContact({ id: 'x', properties: { $email: 42 } })
  // @ts-expect-error Required.
  await client.identifyAccount({ id: 'x', properties: { $name: 'x' } })
  // @ts-expect-error Required in a message.
  await client.submitConversation({ id: 'x', source, createdAt: '', contacts: [], messages: [{ id: 'x', content: '' }] })
  // @ts-expect-error A purge names a contact.
  await client.purgeContact({ source })
  // @ts-expect-error There are no purges in a batch.
  await client.submitBatch([{ operation: 'purge_contact', body: { id: 'x' } }])
  // @ts-expect-error No such operation.
  await client.merge({})
  // @ts-expect-error An id is a text.
  const id: number = feedback.id
  return id
}
`

const INSTALLERS = {
  npm: ['npm', 'install', '--offline', '--no-audit', '--no-fund'],
  bun: [join(programs, 'bun'), 'add'],
}
const RUNTIMES = {
  'Node.js': ['node'],
  Bun: [join(programs, 'bun')],
  Deno: [join(programs, 'deno'), 'run', '--allow-net', '--no-check'],
}

describe('the package of the client', () => {
  let service: Service
  let compiled: string | undefined
  const archives = temporaryDirectory()
  before(async () => {
    service = await startService()
    const { code, stdout, stderr } = await runCommand(service, 'cli/client/client-command.ts', '--out', archives)
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(stdout.trim(), archive())
  })
  after(() => service?.stop())

  const archive = (): string => join(archives, readdirSync(archives)[0]!)

  for (const [installer, words] of Object.entries(INSTALLERS)) {
    describeWhere(`installed by ${installer}`, missingProgram(words[0]!), () => {
      const directory = temporaryDirectory()
      before(() => {
        writeFileSync(join(directory, 'package.json'), '{"type": "module", "private": true}')
        run([...words, archive()], directory)
        // The package is the same from any installer, so its types are checked once.
        compiled ??= compiledIn(directory)
        writeFileSync(join(directory, 'program.js'), compiled)
      })

      it('fits a strict program, and installs no other package', () => {
        const installed = readdirSync(join(directory, 'node_modules')).filter((name) => !name.startsWith('.'))
        assert.deepEqual(installed, ['feedback-insights-client'])
      })

      itWhere('has a program that forwards messages of agents', missingProgram('node'), () => {
        const answer = spawnSync(join(directory, 'node_modules', '.bin', 'feedback-insights-mcp'), {
          input: '{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2',
          env: { ...process.env, FEEDBACK_URL: service.urls[0], FEEDBACK_TOKEN: service.adminToken },
          encoding: 'utf8',
        })
        const messages = answer.stdout
          .split('\n')
          .filter((line) => line !== '')
          .toSorted()
        assert.match(messages[0]!, /"code":-32700/)
        assert.deepEqual(JSON.parse(messages[1]!), { jsonrpc: '2.0', id: 1, result: {} })
        assert.equal(messages.length, 2)
      })

      itWhere('has a program that names its missing variables', missingProgram('node'), () => {
        const env = { ...process.env, FEEDBACK_URL: service.urls[0], FEEDBACK_TOKEN: '' }
        const program = join(directory, 'node_modules', '.bin', 'feedback-insights-mcp')
        const { status, stderr } = spawnSync(program, { input: '', env, encoding: 'utf8' })
        assert.deepEqual([status, stderr.slice(0, 16)], [1, 'Set FEEDBACK_URL'])
      })

      for (const [runtime, command] of Object.entries(RUNTIMES)) {
        itWhere(`runs on ${runtime}`, missingProgram(command[0]!), async () => {
          const source = `${installer} ${runtime}`
          const output = run([...command, 'program.js', service.urls[0]!, service.adminToken, source], directory)
          assert.equal(output.trim(), '["1","applied","applied","applied",404,[]]')
          const rows = await service.sql`
            select description, title, tags from feedback where source = ${source}
            union all select external_id, contact.name, null from contact_external_id
              join contact on contact.id = contact_id where external_id = ${source}`
          assert.deepEqual(
            rows.map((row) => ({ ...row })),
            [
              { description: 'It runs', title: null, tags: ['a'] },
              { description: source, title: 'Ada', tags: null },
            ],
          )
        })
      }
    })
  }
})

/** The program in JavaScript; throws if it does not fit the types of the installed package. */
const compiledIn = (directory: string): string => {
  writeFileSync(join(directory, 'program.ts'), PROGRAM)
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(TSCONFIG))
  run([process.execPath, join(root, 'node_modules', 'typescript', 'bin', 'tsc')], directory)
  return readFileSync(join(directory, 'program.js'), 'utf8')
}

/** The output of a program; throws if it fails. */
const run = ([program = '', ...words]: readonly string[], cwd: string): string => {
  const { status, stdout, stderr, error } = spawnSync(program, words, { cwd, encoding: 'utf8' })
  assert.equal(status, 0, `${program} ${words.join(' ')}\n${stdout}${stderr}${error?.message ?? ''}`)
  return stdout
}
