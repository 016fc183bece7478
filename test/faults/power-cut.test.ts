import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { freeze } from '../support/kept-process.ts'
import { moreIsAccepted, startLoad } from '../support/load.ts'
import { type Disk, mountDisk } from '../support/power-cut.ts'
import { askedOf, assertNothingLost, assertWellAnswered, damage, recovery } from '../support/recovery.ts'
import { describeWhere } from '../support/where.ts'

/** Redis syncs once a second, and may be late by one check. */
const WRITTEN_OUT_AFTER_MS = 2_500

for (const appendFsync of ['always', 'everysec'] as const) {
  const disk = mountDisk()
  const missing = disk === undefined ? 'no file system can be mounted here' : undefined
  describeWhere(`a machine of Redis and Postgres that loses power, with appendfsync ${appendFsync}`, missing, () => {
    let stack: FaultStack
    before(async () => {
      stack = await startFaultStack({ appendFsync, parent: disk!.directory })
    })
    after(async () => {
      try {
        await stack?.stop()
      } finally {
        disk!.remove()
      }
    })

    it(`has ${appendFsync === 'always' ? 'all' : 'all but the last'} confirmed submissions, each once`, async () => {
      const asked = askedOf(stack)
      const load = startLoad(asked)
      await moreIsAccepted(load, 100)
      // From here on only Redis has the accepted submissions.
      await stack.kept.worker.hold()
      await moreIsAccepted(load, 100)
      const written = { ...load.seen, accepted: new Map(load.seen.accepted) }
      await pause(WRITTEN_OUT_AFTER_MS)
      await losePower(stack, disk!)
      stack.kept.worker.letGo()
      await moreIsAccepted(load)
      await load.stop()
      assertWellAnswered(load.seen)
      const kept = appendFsync === 'always' ? load.seen : written
      await recovery(asked, kept)
      if (appendFsync === 'always') await assertNothingLost(asked, kept)
      else assert.deepEqual(await damage(stack.sql, kept), { lost: 0, doubled: 0 })
    })
  })
}

const losePower = async ({ kept }: FaultStack, cut: Disk): Promise<void> => {
  const servers = [kept.redis, kept.postgres]
  const thaws = servers.map(freeze)
  cut.cut()
  for (const end of thaws) end('SIGKILL')
  await Promise.all(servers.map((server) => server.hold()))
  cut.comeBack()
  for (const server of servers) server.letGo()
}
