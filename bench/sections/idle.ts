import { setTimeout as pause } from 'node:timers/promises'
import { PROCESSES } from '../figures/measures.ts'
import { untilQuiet, usageOf } from '../figures/usage.ts'
import { makeIdleWorkspaces } from '../installation/idle-workspaces.ts'
import type { CreateSection } from '../rig.ts'

/** The rarest task of maintenance runs every 30 s. */
const LOADS_WATCHED = 30
const MS_PER_SECOND = 1_000

/** The processor time of an idle installation: first with one workspace, then with many. */
export const idle: CreateSection = async (rig) => {
  const { config, measures } = rig
  const service = await rig.service('idle')
  // For a minute or so, a new process compiles the code that it runs often.
  await pause(2 * config.seconds * LOADS_WATCHED * MS_PER_SECOND)
  const watch = async (whose: 'one workspace' | 'many workspaces'): Promise<void> => {
    const pids = { ...service.pids(), ...rig.serverPids }
    await untilQuiet(pids)
    const seconds = config.seconds * LOADS_WATCHED
    const before = usageOf(pids)
    await pause(seconds * MS_PER_SECOND)
    const after = usageOf(pids)
    const figures = PROCESSES.map((name) => {
      const used = ((after[name].cpuSeconds - before[name].cpuSeconds) * MS_PER_SECOND) / seconds
      measures.add(`idle, ${whose}: ${name}`, used)
      return used
    })
    measures.add(
      `idle, ${whose}: all processes`,
      figures.reduce((sum, used) => sum + used, 0),
    )
  }
  for (let round = 0; round < config.rounds; round++) await watch('one workspace')
  await makeIdleWorkspaces(service, config.idleWorkspaces)
  return { round: () => watch('many workspaces') }
}
