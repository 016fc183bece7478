import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const script = fileURLToPath(new URL('../../../cli/start/install.sh', import.meta.url))
const NEEDED = ['cat', 'cmp', 'dirname', 'mkdir', 'mktemp', 'rm', 'sleep']

/** Runs the script in a new folder. PATH has the needed programs, and `installer`, which fails. */
const installWith = (installer: string): { status: number | null; stderr: string } => {
  const folder = temporaryDirectory()
  const copy = join(folder, 'cli/start/install.sh')
  mkdirSync(dirname(copy), { recursive: true })
  cpSync(script, copy)
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  for (const name of NEEDED) {
    const { stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' })
    symlinkSync(stdout.trim(), join(bin, name))
  }
  writeFileSync(join(bin, installer), '#!/bin/sh\necho "no registry"\nexit 1\n', { mode: 0o755 })
  return spawnSync('/bin/sh', [copy], { env: { PATH: bin, HOME: folder, TMPDIR: folder }, encoding: 'utf8' })
}

describe('the installation of packages', () => {
  for (const installer of ['npm', 'bun'])
    it(`shows the output of ${installer} and names it, when ${installer} fails`, () => {
      const { status, stderr } = installWith(installer)
      assert.deepEqual(
        { status, stderr },
        { status: 1, stderr: `no registry\n${installer} could not install the packages: see the lines above\n` },
      )
    })
})
