import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { serveHttp } from '../support/http-server.ts'

const FILE = fileURLToPath(new URL('../../client/mcp-command.ts', import.meta.url))

describe('the bridge for agents', () => {
  it('answers a request with an error if the address is that of another program', async () => {
    const other = await serveHttp((_request, response) => response.writeHead(200).end('<html>Welcome</html>'))
    const words = 'deno' in process.versions ? ['run', '-A', FILE] : [FILE]
    // On Bun, a proxy does not get the token. Deno sends requests to this machine through a proxy, too.
    const proxy = 'deno' in process.versions ? {} : { HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '', no_proxy: '' }
    const env = { ...process.env, ...proxy, FEEDBACK_URL: other.url, FEEDBACK_TOKEN: 'x' }
    const child = spawn(process.execPath, words, { env, stdio: 'pipe' })
    child.stdin.end('{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n')
    const { id, error } = JSON.parse(await text(child.stdout))
    other.stop()
    assert.deepEqual([id, error.message], [7, 'The service answered 200: <html>Welcome</html>'])
  })
})
