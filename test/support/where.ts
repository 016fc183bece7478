import { describe, it } from 'node:test'

/**
 * A group of tests that needs something of the machine. Without it, the group counts as one skipped
 * test whose title says why: Bun leaves a group that is skipped as a whole out of its report.
 */
export const describeWhere = (title: string, missing: string | undefined, define: () => void): void => {
  describe(title, () => {
    if (missing === undefined) define()
    else it(`is skipped: ${missing}`, { skip: missing }, () => {})
  })
}

/** One test that needs something of the machine. */
export const itWhere = (title: string, missing: string | undefined, test: () => Promise<void> | void): void => {
  if (missing === undefined) it(title, test)
  else it(`${title} (skipped: ${missing})`, { skip: missing }, () => {})
}
