import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { writeFile } from 'node:fs/promises'
import { writeWhole } from '../../cli/write-whole.ts'
import { resultOf } from '../support/command.ts'
import { spawnProgram } from '../support/service-process.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'

describe('a file with data of customers', () => {
  const directory = temporaryDirectory()
  let out: string
  before(() => {
    out = join(mkdtempSync(join(directory, 'x')), 'out')
  })
  const modeOf = (path: string): number => statSync(path).mode & 0o777

  it('is written as a whole, for its owner alone, also over a draft that others may read or that is a link', async () => {
    writeFileSync(`${out}.part`, 'of a killed command')
    chmodSync(`${out}.part`, 0o666)
    await writeWhole(out, (draft) => writeFile(draft, 'first'))
    assert.deepEqual([readFileSync(out, 'utf8'), modeOf(out), existsSync(`${out}.part`)], ['first', 0o600, false])
    const other = join(directory, 'other')
    writeFileSync(other, 'mine')
    symlinkSync(other, `${out}.part`)
    await writeWhole(out, (draft) => writeFile(draft, 'second'))
    assert.deepEqual([readFileSync(out, 'utf8'), readFileSync(other, 'utf8')], ['second', 'mine'])
  })

  it('stays as it was if the command fails, which leaves no draft', async () => {
    await writeWhole(out, (draft) => writeFile(draft, 'former'))
    const fault = new Error('no rows any more')
    const failing = writeWhole(out, async (draft) => {
      await writeFile(draft, 'half')
      throw fault
    })
    await assert.rejects(failing, fault)
    assert.deepEqual([readFileSync(out, 'utf8'), existsSync(`${out}.part`)], ['former', false])
  })

  it('never is the draft of another command', async () => {
    const slow = writeWhole(out, async (draft) => {
      await writeFile(draft, 'slow')
      await writeWhole(out, (again) => writeFile(again, 'quick'))
      await writeFile(draft, 'half of a third')
    })
    await assert.rejects(slow, /Another command writes/)
    assert.equal(readFileSync(out, 'utf8'), 'quick')
  })

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`leaves no draft if ${signal} stops the command`, async () => {
      const program = join(directory, 'program.ts')
      const writer = new URL('../../cli/write-whole.ts', import.meta.url).pathname
      writeFileSync(
        program,
        `import { writeFile } from 'node:fs/promises'
        import { writeWhole } from ${JSON.stringify(writer)}
        await writeWhole(process.argv[2], async (draft) => {
          await writeFile(draft, 'half')
          await new Promise((resolve) => setTimeout(resolve, 600_000))
        })`,
      )
      const stopped = join(directory, signal)
      const child = spawnProgram(program, [stopped], {})
      const ended = resultOf(child)
      const draft = `${stopped}.part`
      await until('the draft is there', async () => existsSync(draft) && readFileSync(draft, 'utf8') === 'half')
      child.kill(signal)
      const { code } = await ended
      assert.ok(code !== null && code > 128, `exit code ${code}`)
      assert.deepEqual([existsSync(draft), existsSync(stopped)], [false, false])
    })
  }
})
