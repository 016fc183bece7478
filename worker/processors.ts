import type { QueueName } from '../contract/queues.ts'
import { hopeless } from '../queue/delivered-job.ts'
import type { Processor, Work } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import { purging } from './purge.ts'
import { rowsOf } from './rows/rows.ts'
import { settlingIn } from './settle.ts'
import { storingInTurn } from './store-in-turn.ts'
import { submissionProcessor } from './submission.ts'
import { suspectsApart } from './suspects.ts'
import { taggingProcessor } from './tagging/tagging-processor.ts'

/** What is done with the jobs of each queue. */
export const createProcessors = (given: WorkerDependencies): Readonly<Record<QueueName, Processor>> => {
  const dependencies = { ...given, ...settlingIn(given) }
  const storeInTurn = storingInTurn(dependencies)
  const apart = suspectsApart()
  const storing: Work = async (delivery) => {
    const { submission, attempts } = delivery
    if (submission.operation === 'purge_contact') throw hopeless('A purge in the wrong queue.')
    return storeInTurn(delivery, rowsOf(given.hashKey, submission, attempts))
  }
  const storeSubmission = submissionProcessor(dependencies, apart(storing))
  return {
    feedback: storeSubmission,
    contacts: storeSubmission,
    accounts: storeSubmission,
    conversations: storeSubmission,
    purges: submissionProcessor(dependencies, apart(purging(dependencies, storeInTurn))),
    tagging: taggingProcessor(given),
  }
}
