import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'

export const isHere = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

/** What this machine lacks to run a program; undefined if the program is here. */
export const missingProgram = (program: string): string | undefined =>
  isHere(program) ? undefined : `there is no ${program}`

/**
 * Defines a group of tests with a requirement. If the requirement is `missing`, the group is one
 * skipped test with the reason in its title. Bun would not report a group skipped as a whole.
 */
export const describeWhere = (title: string, missing: string | undefined, define: () => void): void => {
  describe(title, () => {
    if (missing === undefined) define()
    else it(`is skipped: ${missing}`, { skip: missing }, () => {})
  })
}

/** Defines a test with a requirement. */
export const itWhere = (title: string, missing: string | undefined, test: () => Promise<void> | void): void => {
  if (missing === undefined) it(title, test)
  else it(`${title} (skipped: ${missing})`, { skip: missing }, () => {})
}
