import { setTimeout as pause } from 'node:timers/promises'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { freeze } from '../support/kept-process.ts'
import { readLedger } from '../support/ledgers.ts'
import { describeFaults } from '../support/describe-faults.ts'
import { until } from '../support/until.ts'

/** A separate file system in a file. Only synced data is certain to be in this file. */
type Disk = {
  readonly directory: string
  /** Copies the synced data. Call it once, while no program writes. */
  readonly cut: () => void
  /** Mounts the copy at `directory`. */
  readonly comeBack: () => void
  readonly remove: () => void
}

const DISK_MIB = 1_024

/** @returns undefined if this machine does not let the test mount a file. */
const mountDisk = (): Disk | undefined => {
  const home = mkdtempSync(join(tmpdir(), 'feedback-insights-disk-'))
  const [directory, image, afterwards] = [join(home, 'mounted'), join(home, 'image'), join(home, 'afterwards')]
  mkdirSync(directory)
  const remove = (): void => {
    while (runs('umount', '--lazy', directory));
    rmSync(home, { recursive: true, force: true })
  }
  const isThere =
    runs('truncate', '--size', `${DISK_MIB}M`, image) &&
    runs('mkfs.ext4', '-q', image) &&
    // The users of the servers must be able to enter.
    runs('chmod', 'a+x', home) &&
    runs('mount', '-o', 'loop', image, directory)
  if (!isThere) {
    remove()
    return undefined
  }
  return {
    directory,
    cut: () => must('cp', '--sparse=always', image, afterwards),
    comeBack: () => {
      // A lazy unmount succeeds even if a program still has a file open.
      must('umount', '--lazy', directory)
      must('mount', '-o', 'loop', afterwards, directory)
    },
    remove,
  }
}

const runs = (command: string, ...words: readonly string[]): boolean => spawnSync(command, words).status === 0

const must = (command: string, ...words: readonly string[]): void => {
  const { status, stderr } = spawnSync(command, words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command}: ${stderr}`)
}

/** The file of Redis is synced once a second, or a little later. */
const SYNCED_AFTER_MS = 2_500

for (const appendFsync of ['always', 'no'] as const) {
  const disk = mountDisk()
  describeFaults(`a machine of Redis and Postgres, with appendfsync ${appendFsync}`, {
    missing: disk === undefined ? 'no file system can be mounted here' : undefined,
    start: async () => {
      const stack = await startFaultStack({ appendFsync, parent: disk!.directory })
      return { ...stack, stop: () => stack.stop().finally(disk!.remove) }
    },
    rows: [
      {
        fault: `it loses power${appendFsync === 'always' ? '' : ', seconds after the last admission'}`,
        purges: false,
        strike: async (stack, own) => {
          const { api, worker } = stack.kept
          // Only Redis has the submissions that are accepted from here on.
          await worker.hold()
          const { accepted } = await readLedger(own)
          await until('more submissions are accepted', async () => (await readLedger(own)).accepted > accepted + 50)
          const goOn = appendFsync === 'always' ? () => {} : freeze(api)
          if (appendFsync !== 'always') await pause(SYNCED_AFTER_MS)
          await losePower(stack, disk!).finally(goOn)
          worker.letGo()
        },
      },
    ],
  })
}

const losePower = async ({ kept }: FaultStack, disk: Disk): Promise<void> => {
  const servers = [kept.redis, kept.postgres]
  const ends = servers.map(freeze)
  disk.cut()
  for (const end of ends) end('SIGKILL')
  await Promise.all(servers.map((server) => server.hold()))
  disk.comeBack()
  for (const server of servers) server.letGo()
}
