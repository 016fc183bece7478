import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { moreIsAccepted, startLoad } from '../support/load.ts'
import { type Disk, mountDisk } from '../support/power-cut.ts'
import { assertNothingLost, assertWellAnswered, damage, recovery } from '../support/recovery.ts'
import { describeWhere } from '../support/where.ts'

/** Redis writes out once a second, and the next time it looks. */
const WRITTEN_OUT_AFTER_MS = 2_500

for (const appendFsync of ['always', 'everysec'] as const) {
  const disk = mountDisk()
  describeWhere(
    `a machine of Redis and Postgres that loses power, with appendfsync ${appendFsync}`,
    disk === undefined ? 'no file system can be mounted here' : undefined,
    () => {
      let stack: FaultStack
      before(async () => {
        stack = await startFaultStack({ appendFsync, parent: disk!.directory })
      })
      after(async () => {
        try {
          await stack.stop()
        } finally {
          disk!.remove()
        }
      })

      it(`has ${appendFsync === 'always' ? 'all' : 'all but the last moments'} of what was confirmed, once`, async () => {
        const load = startLoad(stack)
        await moreIsAccepted(load, 100)
        // From here on Redis alone has what is accepted.
        await stack.kept.worker.hold()
        await moreIsAccepted(load, 100)
        const written = new Map(load.seen.accepted)
        await pause(WRITTEN_OUT_AFTER_MS)
        await losePower(stack, disk!)
        const had = load.seen.accepted.size
        stack.kept.worker.letGo()
        await moreIsAccepted(load)
        await load.stop()
        await recovery(stack, appendFsync === 'always' ? load.seen : { ...load.seen, accepted: written })
        assertWellAnswered(load.seen)
        const { lost, doubled } = await damage(stack.sql, load.seen)
        console.log(`${had} confirmed before, of which ${lost} are lost, ${doubled} doubled`)
        if (appendFsync === 'always') await assertNothingLost(stack, load.seen)
        else assert.deepEqual(await damage(stack.sql, { ...load.seen, accepted: written }), { lost: 0, doubled: 0 })
      })
    },
  )
}

const losePower = async ({ kept, freeze }: FaultStack, disk: Disk): Promise<void> => {
  const servers = ['redis', 'postgres'] as const
  const thaws = servers.map((server) => freeze(server))
  disk.cut()
  for (const end of thaws) end('SIGKILL')
  await Promise.all(servers.map((server) => kept[server].hold()))
  disk.comeBack()
  for (const server of servers) kept[server].letGo()
}
