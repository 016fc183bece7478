import { makeWorkspaces } from '../installation/make-workspaces.ts'
import { countSettled, untilSettled } from '../installation/settled.ts'
import { observe } from '../observe.ts'
import { type CreateSection, feedbackTarget, type LoadTarget, loadWith } from '../rig.ts'

/** Many workspaces, each with a request in its turn, beside one that has them all. */
export const workspaces: CreateSection = async (rig) => {
  const { config, measures, serverPids } = rig
  const service = await rig.service('workspaces')
  const one = feedbackTarget(service)
  const many = { ...one, tokens: await makeWorkspaces(service.sql, config.workspaces) }
  const targets: [Whose, LoadTarget][] = [
    ['one workspace', one],
    ['many workspaces', many],
  ]
  let expected = await countSettled(service)
  const idempotencyKeys = true

  const accept = async (whose: Whose, target: LoadTarget): Promise<void> => {
    const { accepted, seconds } = await loadWith(rig, target, { idempotencyKeys })
    expected += accepted
    measures.add(`accepted, ${whose}`, accepted / seconds)
  }
  const settle = async (whose: Whose, target: LoadTarget): Promise<void> => {
    const { perSecond, totalMicroseconds } = await observe(rig, {
      target,
      idempotencyKeys,
      until: (accepted) => untilSettled(service, (expected += accepted)),
      pids: { ...service.pids(), ...serverPids },
    })
    measures.add(`end to end, ${whose}`, perSecond)
    measures.add(`processor time per submission, ${whose}`, totalMicroseconds)
  }
  for (const [, target] of targets) expected += (await loadWith(rig, target, { idempotencyKeys })).accepted
  await untilSettled(service, expected)
  return {
    round: async () => {
      await service.stopWorker()
      for (const [whose, target] of targets) await accept(whose, target)
      await service.startWorker()
      // What was accepted meanwhile warms the new worker up.
      await untilSettled(service, expected)
      for (const [whose, target] of targets) await settle(whose, target)
      targets.reverse()
    },
  }
}

type Whose = 'one workspace' | 'many workspaces'
