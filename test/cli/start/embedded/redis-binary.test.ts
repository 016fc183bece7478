import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { after, describe } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { redisBinary } from '../../../../cli/start/embedded/redis-binary.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { itWhere } from '../../../support/where.ts'

type Module = { readonly redisBinary: typeof redisBinary }

const FILE = 'cli/start/embedded/redis-binary.ts'
const PROGRAMS = ['sh', 'env', 'apt-get', 'dpkg-deb']

const placeOf = (program: string): string =>
  spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim()

describe('the search for a Redis server', () => {
  const { PATH } = process.env
  after(() => {
    process.env['PATH'] = PATH
  })
  const lacking = PROGRAMS.filter((program) => placeOf(program) === '')

  itWhere(
    'tries no further program after Ctrl-C, and leaves nothing behind',
    lacking.length === 0 ? undefined : `there is no ${lacking.join()}`,
    async () => {
      // A copy of the module has a cache of its own, and the new PATH has no Redis.
      const root = temporaryDirectory()
      const copy = join(root, FILE)
      mkdirSync(dirname(copy), { recursive: true })
      cpSync(fileURLToPath(new URL(`../../../../${FILE}`, import.meta.url)), copy)
      const programs = join(root, 'bin')
      mkdirSync(programs)
      for (const program of PROGRAMS) symlinkSync(placeOf(program), join(programs, program))
      const { redisBinary: search } = (await import(pathToFileURL(copy).href)) as Module
      process.env['PATH'] = programs
      const stop = new AbortController()
      const lines: string[] = []
      const say = (line: string): void => {
        lines.push(line)
        // The next program is running by then.
        setImmediate(() => stop.abort())
      }
      await assert.rejects(search(say, stop.signal), { name: 'AbortError' })
      assert.deepEqual(lines, ['Fetching redis-server from the package archive …'])
      assert.deepEqual(readdirSync(join(root, 'node_modules/.cache')), [])
      await assert.rejects(
        search(() => {}, AbortSignal.abort()),
        { name: 'AbortError' },
      )
    },
  )
})
