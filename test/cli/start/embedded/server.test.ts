import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startServer } from '../../../../cli/start/embedded/server.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

describe('the start of an embedded server', () => {
  it('is tried again after a passing fault, and ends with the words of the last attempt alone', async () => {
    const words = ['the port is taken', 'the data is damaged', 'no third attempt']
    const start = startServer({
      name: 'The server',
      dataDir: temporaryDirectory(),
      logName: 'server.log',
      wantedPort: undefined,
      stopSteps: [],
      passingTrouble: /port is taken/,
      prepare: () => ({
        urlAt: () => '',
        commandAt: () => ['sh', '-c', `echo '${words.shift()}'; exit 1`],
        isReady: () => false,
      }),
    })
    await assert.rejects(start, { message: 'The server did not start; the end of its log:\nthe data is damaged' })
  })
})
