import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = temporaryDirectory()

const programs: Record<string, string[]> = {
  bun: [join(root, 'node_modules/.bin/bun')],
  deno: [join(root, 'node_modules/.bin/deno'), 'run', '-A', '--no-check'],
}

const write = (name: string, lines: readonly object[]): string => {
  const path = join(folder, name)
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return path
}

const run = (runtime: string, words: readonly string[]): { status: number | null; stderr: string } => {
  const [program = '', ...options] = programs[runtime] ?? []
  const { status, stderr } = spawnSync(program, [...options, 'tagger/tags-command.ts', ...words], {
    cwd: root,
    encoding: 'utf8',
  })
  return { status, stderr }
}

test('the command tags texts with the history of their workspace, and keeps workspaces apart', () => {
  const history = write(
    'history.jsonl',
    Array.from({ length: 8 }, () => ({ text: 'The wheel squeaks', workspace: 'one', tags: ['squeak'] })),
  )
  const texts = write('texts.jsonl', [
    { id: 'a', text: '<p>The wheel <b>squeaks</b></p>', workspace: 'one' },
    { id: 'b', text: 'The wheel squeaks', workspace: 'two' },
    { id: 'c', text: '' },
  ])
  const out = join(folder, 'tags.jsonl')
  assert.deepEqual(run('bun', ['--in', texts, '--history', history, '--out', out]), { status: 0, stderr: '' })
  const lines = readFileSync(out, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; tags: string[] })
  assert.deepEqual(lines, [
    { id: 'a', tags: ['squeak'] },
    { id: 'b', tags: ['wheel'] },
    { id: 'c', tags: [] },
  ])
})

test('the command shows its usage if options are missing, and names the line of a fault', () => {
  const without = run('bun', [])
  assert.equal(without.status, 2)
  assert.match(without.stderr, /usage/)
  const texts = write('wrong.jsonl', [{ id: 'a', text: 'fine' }, { id: 'b' }])
  const { status, stderr } = run('bun', ['--in', texts, '--out', join(folder, 'none.jsonl')])
  assert.equal(status, 1)
  assert.match(stderr, /wrong\.jsonl:2/)
})

test('the command gives the same tags on Bun and on Deno', () => {
  const data = fileURLToPath(new URL('../../bench/tags/data/', import.meta.url))
  const texts = join(data, 'languages.jsonl')
  const [bun, deno] = Object.keys(programs).map((runtime) => {
    const out = join(folder, `${runtime}.jsonl`)
    assert.equal(run(runtime, ['--in', texts, '--history', join(data, 'huliu2004.jsonl'), '--out', out]).status, 0)
    return readFileSync(out, 'utf8')
  })
  assert.ok(bun !== undefined && bun.length > 0)
  assert.equal(bun, deno)
})
