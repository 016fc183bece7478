import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { outliveKiller, outliveKills, SUBMISSIONS_AMONG_KILLS } from '../support/often-killed.ts'
import { type Service, startService } from '../support/service.ts'

const IS_LONG = process.env['TEST_SIZE'] === 'long'

describe('workers of which one is killed every 1.5 s', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0, apis: 2, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
  })
  after(() => service.stop())

  it(`lose nothing and change nothing: ${SUBMISSIONS_AMONG_KILLS} submissions are stored as one clerk would have`, () =>
    outliveKills(service))
})

describe('workers of which one is killed every 1.5 s, while a submission kills those that store it', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0, apis: 2, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
  })
  after(() => service.stop())

  // In small, test/faults/poison.test.ts has a killer, among workers that nobody else kills.
  it('end this one dead, with its reason, and store all others as one clerk would have', { skip: !IS_LONG }, () =>
    outliveKiller(service),
  )
})
