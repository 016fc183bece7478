import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { bypassProxies } from '../../runtime/bypass-proxies.ts'
import { DEAD_PROXY } from '../support/service-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const RUNTIMES = {
  Bun: [join(root, 'node_modules/.bin/bun'), '-e'],
  Deno: [join(root, 'node_modules/.bin/deno'), 'eval'],
} as const
const HOSTS = ['127.0.0.1', '127.0.0.2', '[::1]', 'localhost', '0.0.0.0']

describe('with a proxy in the environment, a request to this machine', () => {
  let server: Server
  let port: number
  before(async () => {
    server = createServer((request, response) => {
      // A client asks a proxy for a whole URL.
      const isProxied = !request.url!.startsWith('/')
      response.end(JSON.stringify({ submission: { isProxied } }))
    })
    await once(server.listen(0, '::'), 'listening')
    port = (server.address() as AddressInfo).port
  })
  after(() => server?.close())

  const printed = async (runtime: keyof typeof RUNTIMES, code: string, proxy = DEAD_PROXY): Promise<unknown> => {
    const [program, ...words] = RUNTIMES[runtime]
    const { stdout } = await promisify(execFile)(program, [...words, code], {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...proxy, no_proxy: 'corp.example' },
    })
    return JSON.parse(stdout)
  }

  for (const runtime of ['Bun', 'Deno'] as const) {
    it(`bypasses the proxy on ${runtime}`, async () => {
      const code = `
        import process from 'node:process'
        import { bypassProxies } from './runtime/bypass-proxies.ts'
        bypassProxies(process.env)
        const ask = (host) => fetch('http://' + host + ':${port}/').then((answer) => answer.json()).then(({ submission }) => submission, String)
        console.log(JSON.stringify(await Promise.all(${JSON.stringify(HOSTS)}.map(ask))))`
      assert.deepEqual(
        await printed(runtime, code),
        HOSTS.map(() => ({ isProxied: false })),
      )
    })
  }

  for (const runtime of ['Bun', 'Deno'] as const) {
    it(`of a webhook takes no proxy on ${runtime}, even with NODE_USE_ENV_PROXY`, async () => {
      const code = `
        import { Buffer } from 'node:buffer'
        import process from 'node:process'
        process.env.NODE_USE_ENV_PROXY = '1'
        const { post } = await import('./worker/webhooks/post.ts')
        const stop = AbortSignal.timeout(10_000)
        const { status } = await post(new URL('http://127.0.0.1:${port}/'), { body: Buffer.alloc(0), headers: {}, allowedHosts: ['127.0.0.1'], stop })
        console.log(status)`
      assert.equal(await printed(runtime, code), 200)
    })
  }

  it('of the client bypasses the proxy, unlike a request to another host', async () => {
    const code = `
      import { createClient } from './client/client.ts'
      const ask = (host) =>
        createClient({ url: 'http://' + host + ':${port}', token: 'x', patienceMs: 0 }).getSubmission('x').catch(String)
      console.log(JSON.stringify(await Promise.all(${JSON.stringify([...HOSTS, 'corp2.example'])}.map(ask))))`
    const answers = await printed('Bun', code, { HTTP_PROXY: `http://127.0.0.1:${port}` })
    assert.deepEqual(answers, [...HOSTS.map(() => ({ isProxied: false })), { isProxied: true }])
  })
})

// Deno ignores no_proxy if NO_PROXY is set. Bun ignores NO_PROXY if no_proxy is set.
it('hosts in one of the variables NO_PROXY and no_proxy get into both', () => {
  const environment: Record<string, string | undefined> = { no_proxy: 'corp.example' }
  bypassProxies(environment, 'far.example')
  for (const name of ['NO_PROXY', 'no_proxy']) assert.match(environment[name] ?? '', /^corp\.example,.*,far\.example$/)
})
