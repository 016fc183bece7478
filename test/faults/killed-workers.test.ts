import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { assertStoredAsByOneClerk, submitHistory } from '../support/one-clerk.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'

const SUBMISSIONS = Number(process.env['KILLED_SUBMISSIONS'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 400))
const WORKERS = 2
/** After so many answers, a worker is killed and another one started in its place. */
const KILL_EVERY = Math.ceil(SUBMISSIONS / 5)

describe('workers that are killed', () => {
  let service: Service
  const workers: ServiceProcess[] = []
  const startWorker = () => startProcess('worker/main.ts', 'working', { ...service.environment })
  const replaceWorker = async (): Promise<void> => {
    await workers.shift()!.kill()
    workers.push(await startWorker())
  }

  before(async () => {
    service = await startService({ workers: 0, apis: 2, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
    // Generated tags depend on the order; here nothing may.
    await service.queues.tagging.pause()
    for (let started = 0; started < WORKERS; started++) workers.push(await startWorker())
  })
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await service.stop()
  })

  it(`lose nothing and change nothing: ${SUBMISSIONS} submissions are stored as one clerk would have`, async () => {
    let replaced = Promise.resolve()
    const accepted = await submitHistory(service, SUBMISSIONS, {
      answered: (count) => {
        if (count % KILL_EVERY === 0) replaced = replaced.then(replaceWorker)
      },
    })
    await replaced
    await assertStoredAsByOneClerk(service, accepted)
  })
})
