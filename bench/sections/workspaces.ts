import { makeWorkspaces } from '../installation/make-workspaces.ts'
import { observeService } from '../observe.ts'
import { type CreateSection, feedbackTarget, type LoadTarget, loadWith, untilAllFinished } from '../rig.ts'

/** Many workspaces with requests in turn, compared with one workspace with all requests. */
export const workspaces: CreateSection = async (rig) => {
  const { config, measures } = rig
  const service = await rig.service('workspaces')
  const one = feedbackTarget(service)
  const many = { ...one, tokens: await makeWorkspaces(service.sql, config.workspaces) }
  const targets: [Whose, LoadTarget][] = [
    ['one workspace', one],
    ['many workspaces', many],
  ]
  const idempotencyKeys = true

  const accept = async (whose: Whose, target: LoadTarget): Promise<void> => {
    const { accepted, seconds } = await loadWith(rig, target, { idempotencyKeys })
    measures.add(`accepted, ${whose}`, accepted / seconds)
  }
  const apply = async (whose: Whose, target: LoadTarget): Promise<void> => {
    const { perSecond, totalMicroseconds } = await observeService(rig, service, {
      target,
      how: { idempotencyKeys },
    })
    measures.add(`end to end, ${whose}`, perSecond)
    measures.add(`processor time per submission, ${whose}`, totalMicroseconds)
  }
  for (const [, target] of targets) await loadWith(rig, target, { idempotencyKeys })
  await untilAllFinished(rig, service)
  return {
    round: async () => {
      await service.stopWorker()
      for (const [whose, target] of targets) await accept(whose, target)
      await service.startWorker()
      // The queued submissions warm up the new worker.
      await untilAllFinished(rig, service)
      for (const [whose, target] of targets) await apply(whose, target)
      targets.reverse()
    },
  }
}

type Whose = 'one workspace' | 'many workspaces'
