import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'

export const isHere = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

/** A requirement that this machine lacks a program; undefined if it has the program. */
export const missingProgram = (program: string): string | undefined =>
  isHere(program) ? undefined : `there is no ${program}`

/**
 * A group of tests with a requirement for the machine. If that is missing, the group counts as one
 * skipped test with the reason in its title, since Bun does not report a group that is skipped as a
 * whole.
 */
export const describeWhere = (title: string, missing: string | undefined, define: () => void): void => {
  describe(title, () => {
    if (missing === undefined) define()
    else it(`is skipped: ${missing}`, { skip: missing }, () => {})
  })
}

/** One test with a requirement for the machine. */
export const itWhere = (title: string, missing: string | undefined, test: () => Promise<void> | void): void => {
  if (missing === undefined) it(title, test)
  else it(`${title} (skipped: ${missing})`, { skip: missing }, () => {})
}
